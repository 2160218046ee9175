from django.urls import include, path
from rest_framework.routers import SimpleRouter

from apps.chat.api import messages, rooms

router = SimpleRouter(use_regex_path=False)
router.register("chat/rooms", rooms.RoomsResource, basename="chat-room")
for name, resource in {
    "members": rooms.RoomMembersResource,
    "messages": messages.ChatMessagesResource,
}.items():
    router.register(f"chat/rooms/<uuid:room_id>/{name}", resource, basename=f"chat-room-{name}")

urlpatterns = [path("", include(router.urls))]
