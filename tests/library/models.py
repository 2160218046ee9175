from django.db import models

from axiom.tenancy import TenantOwned


class Tag(TenantOwned):
    name = models.CharField(max_length=50)


class Shelf(TenantOwned):
    name = models.CharField(max_length=50)


class Book(TenantOwned):
    title = models.CharField(max_length=50)
    year = models.IntegerField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    shelf = models.ForeignKey(Shelf, null=True, blank=True, on_delete=models.CASCADE)
    tags = models.ManyToManyField(Tag)
