"""Pages of the catalog that are no list of rows."""

from django.utils.translation import gettext_lazy as _

from apps.metadata.pages.browse import branch, browse, read_now
from apps.metadata.pages.compare import compare
from apps.metadata.pages.impact import impact
from axiom.console.groups import Group
from axiom.console.navigation import Page, View

BROWSER = Page(
    group=Group.CATALOG,
    title=_("Catalog browser"),
    url="admin:catalog",
    icon="account_tree",
    position=5,
    views=(
        View("catalog/browse/", browse, "catalog"),
        View("catalog/branch/", branch, "catalog-branch"),
        View("catalog/read/", read_now, "catalog-read"),
    ),
)

COMPARE = Page(
    group=Group.CATALOG,
    title=_("Compare snapshots"),
    url="admin:catalog-compare",
    icon="compare",
    position=17,
    views=(View("catalog/compare/", compare, "catalog-compare"),),
)

IMPACT = Page(
    group=Group.CATALOG,
    title=_("Impact of a change"),
    url="admin:catalog-impact",
    icon="crisis_alert",
    position=18,
    views=(View("catalog/impact/", impact, "catalog-impact"),),
)
