from django.apps import AppConfig


class LibraryConfig(AppConfig):
    name = "tests.library"
    label = "library"
