"""The servers of a data directory: real, private, and modest in what the application may do."""

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db


def test_the_application_is_neither_superuser_nor_above_row_security():
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False, False)


def test_valkey_keeps_its_data_in_an_append_only_file(redis_client):
    assert redis_client.config_get("appendonly") == {"appendonly": "yes"}
    assert redis_client.config_get("appendfsync") == {"appendfsync": "everysec"}
