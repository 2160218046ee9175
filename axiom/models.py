"""What the project itself remembers."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

KEPT_FOR = timedelta(hours=24)


class StoredAnswer(models.Model):
    """The answer to a POST with an Idempotency-Key, given again when the POST is repeated."""

    # A hash of tenant, user, path and key: one index whatever their length.
    scope = models.CharField(max_length=64, primary_key=True)
    tenant = models.ForeignKey(
        "accounts.Tenant", null=True, on_delete=models.CASCADE, related_name="+"
    )
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    path = models.TextField(_("path"))
    key = models.CharField(_("key"), max_length=255)
    body_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(_("status"))
    headers = models.JSONField(default=dict)
    body = models.BinaryField()
    created_at = models.DateTimeField(_("created"))

    class Meta:
        verbose_name = _("stored answer")
        verbose_name_plural = _("stored answers")
        # Read by the hourly purge.
        indexes = [models.Index(fields=["created_at"], name="stored_answer_age")]

    def __str__(self) -> str:
        return f"{self.key} {self.path}"


class DemoLoad(models.Model):
    """That the demo data was loaded here once: who deletes it does not get it back unasked."""

    loaded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "demo load"

    def __str__(self) -> str:
        return f"{self.loaded_at:%Y-%m-%d %H:%M}"


class SavedView(models.Model):
    """A person's own name for the filters of a list."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(_("list"), max_length=100)
    name = models.CharField(_("name"), max_length=60)
    query = models.TextField(_("filters"), blank=True)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("saved view")
        verbose_name_plural = _("saved views")
        constraints = [
            # Also read by the list it belongs to.
            models.UniqueConstraint(fields=["user", "page", "name"], name="saved_view_once"),
        ]

    def __str__(self) -> str:
        return self.name
