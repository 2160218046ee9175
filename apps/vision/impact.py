"""Tells who asks about a table or a column which cubes use it."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.metadata.selectors import impact
from apps.vision.models import Cube
from axiom.references import affected


@impact.affects("cube", label=gettext_lazy("cubes"), page="vision_cube")
def cubes_on(datasource: str, targets: Sequence[impact.Target]) -> Iterator[impact.Affected]:
    for cube, target, used in affected(Cube.objects.all(), datasource, targets):
        how = _("The cube uses %(what)s.") % {"what": used}
        yield impact.Affected("cube", str(cube.pk), str(cube), how, target)
