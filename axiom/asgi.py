"""What the web server runs."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "axiom.settings")

from django.core.asgi import get_asgi_application

application = get_asgi_application()
