"""Rooms over REST: for their members, by their owners."""

import pytest

from apps.chat.models import RoomMember
from apps.events.context import acting

pytestmark = pytest.mark.django_db

ROOMS = "/api/v1/chat/rooms/"


def path(room, *more):
    return f"{ROOMS}{room.pk}/" + "".join(f"{part}/" for part in more)


def test_who_opens_a_room_owns_it(acme, alice, alice_api, bob, streams):
    answer = alice_api.post(ROOMS, {"name": "Plan", "member_ids": [str(bob.pk)]})
    assert answer.status_code == 201
    assert (answer.json()["my_role"], answer.json()["unread"]) == ("owner", 0)
    members = alice_api.get(f"{ROOMS}{answer.json()['id']}/members/").json()["results"]
    assert {m["user"]["id"]: m["role"] for m in members} == {
        str(alice.pk): "owner",
        str(bob.pk): "member",
    }


def test_a_room_of_a_case_is_found_by_it(acme, alice_api, streams):
    from apps.cases.services import open_case

    with acting(tenant_id=acme.pk):
        case = open_case(title="Hanbit")
    alice_api.post(ROOMS, {"name": "Elsewhere"})
    alice_api.post(ROOMS, {"name": "Plan", "case_id": str(case.pk)})
    found = alice_api.get(f"{ROOMS}?case_id={case.pk}").json()["results"]
    assert [room["name"] for room in found] == ["Plan"]


def test_nobody_else_knows_of_a_room(acme, member_of, api_of, charlie_api, room):
    dave = api_of(member_of(acme, "dave", "admin"))
    for api in (dave, charlie_api):
        assert api.get(ROOMS).json()["results"] == []
        for part in ((), ("members",), ("messages",)):
            assert api.get(path(room, *part)).status_code == 404
        body = {"client_id": "1", "text": "Let me in"}
        assert api.post(path(room, "messages"), body).status_code == 404


def test_what_was_said_is_read_in_pages_newest_first(alice, alice_api, bob_api, room, carry):
    for n in range(5):
        answer = alice_api.post(path(room, "messages"), {"client_id": str(n), "text": f"no {n}"})
        assert answer.json() == {"seq": n + 1, "client_id": str(n)}
    again = alice_api.post(path(room, "messages"), {"client_id": "2", "text": "no 2"})
    assert (again.status_code, again.json()["seq"]) == (200, 3)
    carry()
    page = bob_api.get(path(room, "messages") + "?page_size=3").json()
    assert [m["seq"] for m in page["results"]] == [5, 4, 3]
    assert page["results"][0]["sender"] == {"id": str(alice.pk), "name": str(alice)}
    assert [m["seq"] for m in bob_api.get(page["next"]).json()["results"]] == [2, 1]


def test_unread_counts_what_others_said_and_never_goes_back(
    alice, bob, alice_api, bob_api, room, say, carry
):
    say(alice)
    say(bob)
    say(alice)
    carry()
    assert [api.get(path(room)).json()["unread"] for api in (alice_api, bob_api)] == [1, 2]
    assert bob_api.post(path(room, "read"), {"up_to": 2}).json()["unread"] == 1
    assert bob_api.post(path(room, "read"), {"up_to": 1}).json()["read_up_to"] == 2
    assert alice_api.get(path(room)).json()["unread"] == 1


def test_only_owners_let_people_in_and_take_them_out(
    acme, alice, bob, alice_api, bob_api, room, member_of
):
    dave = {"user_id": str(member_of(acme, "dave", "viewer").pk)}
    assert bob_api.post(path(room, "members"), dave).status_code == 403
    assert alice_api.post(path(room, "members"), dave).status_code == 201
    assert alice_api.post(path(room, "members"), dave).status_code == 409
    one = path(room, "members", dave["user_id"])
    assert bob_api.delete(one, HTTP_IF_MATCH="*").status_code == 403
    assert alice_api.delete(one, HTTP_IF_MATCH="*").status_code == 204


def test_a_stranger_cannot_be_let_in(alice_api, charlie, room):
    answer = alice_api.post(path(room, "members"), {"user_id": str(charlie.pk)})
    assert answer.status_code in (400, 404, 409)
    assert not RoomMember.across_tenants.filter(user=charlie).exists()


def test_a_room_keeps_an_owner(alice, bob, alice_api, room):
    mine = path(room, "members", alice.pk)
    assert alice_api.delete(mine, HTTP_IF_MATCH="*").status_code == 409
    assert alice_api.patch(mine, {"role": "member"}).json()["code"] == "last_owner"
    assert alice_api.patch(path(room, "members", bob.pk), {"role": "owner"}).status_code == 200
    assert alice_api.delete(mine, HTTP_IF_MATCH="*").status_code == 204
    assert alice_api.get(path(room)).status_code == 404


def test_only_owners_rename_and_close_a_room(alice_api, bob_api, room, say, alice, carry):
    say(alice)
    carry()
    match = {"HTTP_IF_MATCH": "*"}
    assert bob_api.patch(path(room), {"name": "Mine"}, **match).status_code == 403
    assert alice_api.patch(path(room), {"name": "Ours"}, **match).json()["name"] == "Ours"
    assert bob_api.delete(path(room), **match).status_code == 403
    assert alice_api.delete(path(room), **match).status_code == 204
    assert alice_api.get(path(room)).status_code == 404
