"""Rooms of the demo's cases, in their languages, as if they had been used for some days."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.accounts import selectors as accounts
from apps.cases.selectors import cases
from apps.chat import services
from apps.chat.models import ChatMessage, Room, RoomMember
from apps.events.context import acting
from apps.events.ids import uuid7
from axiom.roles import Role

Talk = Sequence[tuple[Role, str]]

HANBIT: Talk = [
    (Role.MANAGER, "한빛섬유 건은 이 방에서 이야기합시다."),
    (Role.ATTORNEY, "법원 제출본 확인했습니다. 별지 2의 금액만 맞춰 주세요."),
    (Role.ANALYST, "거래내역과 대조해 보니 1,250만 원 차이가 납니다. 오늘 안에 고치겠습니다."),
    (Role.ATTORNEY, "감사합니다. 고치면 바로 제출하겠습니다."),
    (Role.MANAGER, "관계인집회 전에 채권자 목록도 한 번 더 봐 주세요."),
]
HARBOR: Talk = [
    (Role.MANAGER, "Let us keep everything about Northwind in here."),
    (Role.ATTORNEY, "The mortgagee has the valuation and wants a call on Thursday."),
    (Role.ANALYST, "The manifests have 4,100 rows without a consignee; I am cleaning them."),
    (Role.ATTORNEY, "Good. The notice to creditors goes out after that."),
]
ROOMS: dict[str, tuple[str, str, Talk]] = {
    "hanbit": ("한빛섬유 회생", "회생계획안", HANBIT),
    "harbor": ("Northwind Shipping administration", "Proposals", HARBOR),
}


def load() -> None:
    """A company that has rooms already keeps what it has."""
    for tenant in accounts.active_tenants().filter(slug__in=ROOMS):
        with acting(tenant_id=tenant.pk, actor="demo"):
            if not Room.objects.exists():
                _tell(tenant, *ROOMS[tenant.slug])


def _tell(tenant: Any, case_title: str, name: str, talk: Talk) -> None:
    people = {Role(each.role): each.user for each in accounts.members_of(tenant.pk)}
    case = cases().filter(title=case_title).first()
    room = services.open_room(
        name=name,
        by=people[Role.MANAGER],
        case_id=case.pk if case else None,
        member_ids=[people[role].pk for role in (Role.ADMIN, Role.ATTORNEY, Role.ANALYST)],
    )
    begin = timezone.now() - timedelta(days=2)
    ChatMessage.objects.bulk_create(
        _said(room, number, people[role], text, begin + timedelta(minutes=17 * number))
        for number, (role, text) in enumerate(talk, 1)
    )
    # Written past Redis: its numbers begin above them.
    Room.objects.filter(pk=room.pk).update(granted_to=len(talk))
    readers = RoomMember.objects.filter(room=room).exclude(user=people[Role.ADMIN])
    readers.update(read_up_to=len(talk))


def _said(room: Room, seq: int, sender: Any, text: str, at: datetime) -> ChatMessage:
    return ChatMessage(
        id=uuid7(), room=room, seq=seq, sender=sender, client_id=f"demo-{seq}", text=text,
        sent_at=at,
    )  # fmt: skip
