"""Rooms in the console: admins see which there are and who is in them, and read what was said."""

from django.contrib import admin

from apps.chat.models import ChatMessage, Room, RoomMember
from axiom.console.admin import ReadOnly, TenantAdmin, TenantTabularInline
from axiom.console.groups import Group
from axiom.roles import ADMINS


class RoomMemberInline(ReadOnly, TenantTabularInline):
    model = RoomMember
    fields = readonly_fields = ("user", "role", "read_up_to", "joined_at")
    may_view = ADMINS


@admin.register(Room)
class RoomAdmin(ReadOnly, TenantAdmin):
    group, icon, position = Group.WORK, "forum", 70
    may_view = ADMINS
    list_display = ("name", "case", "created_by", "created_at")
    list_select_related = ("case", "created_by")
    search_fields = ("name",)
    ordering = ("-created_at",)
    fields = readonly_fields = ("name", "case", "created_by", "created_at", "granted_to")
    inlines = (RoomMemberInline,)


@admin.register(ChatMessage)
class ChatMessageAdmin(ReadOnly, TenantAdmin):
    group, icon, position = Group.WORK, "chat", 71
    may_view = ADMINS
    list_display = ("room", "seq", "sender", "text", "sent_at")
    list_select_related = ("room", "sender")
    search_fields = ("room__name",)
    # Ids sort by time, and have an index.
    ordering = ("-id",)
    show_full_result_count = False
    readonly_fields = ("room", "seq", "sender", "client_id", "text", "sent_at")
