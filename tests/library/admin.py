from django.contrib import admin

from axiom.console.admin import TenantAdmin
from axiom.console.groups import Group

from .models import Book


@admin.register(Book)
class BookAdmin(TenantAdmin):
    group, icon = Group.WORK, "book"
    counts_on_start_page = True
    list_display = ("title",)
    search_fields = fields = ("title",)
