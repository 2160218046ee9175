"""Two companies and somebody in every role, so that each view of Axiom can be tried."""

from functools import cache

from django.contrib.auth.hashers import make_password

from apps.accounts import services
from apps.accounts.models import Tenant, User
from axiom import demo
from axiom.roles import Role

# Short name, name of the company, language, time zone, and who does what.
COMPANIES = [
    (
        "hanbit",
        "한빛 법무그룹",
        "ko",
        "Asia/Seoul",
        {
            Role.ADMIN: "김서연",
            Role.MANAGER: "이준호",
            Role.ATTORNEY: "박지민",
            Role.ANALYST: "최유진",
            Role.ENGINEER: "정민재",
            Role.VIEWER: "한소희",
        },
    ),
    (
        "harbor",
        "Harbor Insolvency Partners",
        "en",
        "Europe/London",
        {
            Role.ADMIN: "Alice Morgan",
            Role.MANAGER: "Bob Fletcher",
            Role.ATTORNEY: "Charlotte Webb",
            Role.ANALYST: "Daniel Osei",
            Role.ENGINEER: "Elena Petrova",
            Role.VIEWER: "Frank Nolan",
        },
    ),
]


def load() -> None:
    for slug, name, language, timezone, people in COMPANIES:
        tenant = Tenant.objects.filter(slug=slug).first()
        tenant = tenant or services.create_tenant(name=name, slug=slug, timezone=timezone)
        for role, person in people.items():
            _employ(tenant, role, person, language=language, timezone=timezone)


def _employ(tenant: Tenant, role: Role, name: str, **profile: str) -> None:
    """Whoever is there already stays as changed by hand."""
    email = f"{role}@{tenant.slug}.example"
    if User.objects.filter(email=email).exists():
        return
    user = services.create_user(tenant=tenant, email=email, role=role, name=name, **profile)
    user.password = _hashed_password()
    user.is_staff = True
    user.is_superuser = email == demo.LOGIN
    user.save()


@cache
def _hashed_password() -> str:
    """Hashed once: it is the same for all, and half a second each would be felt."""
    return make_password(demo.PASSWORD)


def clear() -> None:
    slugs = [company[0] for company in COMPANIES]
    tenants = Tenant.objects.filter(slug__in=slugs)
    demo.empty_tenants(tenants)
    tenants.delete()
    User.objects.filter(email__in=_emails()).delete()


def _emails() -> list[str]:
    return [f"{role}@{slug}.example" for slug, _, _, _, people in COMPANIES for role in people]
