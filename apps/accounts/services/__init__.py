"""What accounts do."""

from apps.accounts.services.change_password import (
    ask_for_password_link,
    change_password,
    password_link_for,
    set_password_by_link,
)
from apps.accounts.services.issue_tokens import TokenPair, issue_tokens, rotate_tokens
from apps.accounts.services.log_in import (
    ENDED_CHANNEL,
    end_login,
    end_logins,
    log_in,
    open_login,
    purge_logins,
    switch_tenant,
)
from apps.accounts.services.manage_people import (
    add_member,
    change_role,
    create_tenant,
    create_user,
    deactivate_user,
    invite,
    remove_member,
    revise_tenant,
    update_profile,
)

__all__ = [
    "ENDED_CHANNEL",
    "TokenPair",
    "add_member",
    "ask_for_password_link",
    "change_password",
    "change_role",
    "create_tenant",
    "create_user",
    "deactivate_user",
    "end_login",
    "end_logins",
    "invite",
    "issue_tokens",
    "log_in",
    "open_login",
    "password_link_for",
    "purge_logins",
    "remove_member",
    "revise_tenant",
    "rotate_tokens",
    "set_password_by_link",
    "switch_tenant",
    "update_profile",
]
