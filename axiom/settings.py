"""Every setting of Axiom, its default beside its name. Environment variables override."""

import sys
from datetime import timedelta
from pathlib import Path

from csp.constants import NONCE, SELF
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from axiom import startup

env = startup.Environment()
BASE_DIR = startup.BASE_DIR
TESTING = "pytest" in sys.modules

# --- Where things are -------------------------------------------------------------------------
AXIOM_DIR = startup.directory(env)
PRODUCTION = startup.boolean(env, "AXIOM_PRODUCTION", default=False)
DATABASE_URL, REDIS_URL = startup.server_urls(env, AXIOM_DIR)

# --- Django -----------------------------------------------------------------------------------
SECRET_KEY = startup.secret_key(env, AXIOM_DIR, production=PRODUCTION)
# Former keys: what they signed and sealed stays readable while they are listed here.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG = startup.boolean(env, "DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]", "testserver"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
ROOT_URLCONF = "axiom.urls"
ASGI_APPLICATION = "axiom.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "axiom.console.apps.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    # Before channels: both have a command `runworker`, and ours is the one people mean.
    "apps.events",
    "apps.accounts",
    "apps.cases",
    "apps.processes",
    "apps.documents",
    "apps.metadata",
    "apps.oracle",
    "apps.synapse",
    "apps.vision",
    "apps.watch",
    "apps.notifications",
    "apps.chat",
    "axiom",
    "channels",
    "rest_framework",
    "rest_framework_simplejwt.token_blacklist",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "csp",
    # An app to try on what every app is promised.
    *(["tests.library"] if TESTING else []),
]

MIDDLEWARE = [
    # Before all: a probe has no login, no host name of ours, and fills no log.
    "axiom.health.HealthMiddleware",
    # So that every other answer, a redirect or a static file too, has its id and its log line.
    "axiom.middleware.RequestContextMiddleware",
    "axiom.policy.PolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "axiom.middleware.ProblemMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.accounts.middleware.LoginMiddleware",
    "axiom.console.tenants.ChosenTenantMiddleware",
    "axiom.personal.PersonalMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ],
        },
    },
]

# --- Data -------------------------------------------------------------------------------------
DATABASES = {
    "default": {
        **env.db_url_config(DATABASE_URL),
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": env.int("CONN_MAX_AGE", default=60),
        "CONN_HEALTH_CHECKS": True,
    }
}
# For the web server alone (see asgi.py): a worker's session holds its lock and its own settings.
DATABASE_POOL = {
    "min_size": 0,
    "max_size": env.int("DATABASE_POOL_SIZE", default=30),
    "timeout": env.float("DATABASE_POOL_TIMEOUT_SECONDS", default=5),
}
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "axiom:cache",
        "OPTIONS": {
            "CLIENT_CLASS": "django_redis.client.DefaultClient",
            # A cache that is away is a slower site, not a broken one.
            "IGNORE_EXCEPTIONS": True,
            "SOCKET_CONNECT_TIMEOUT": 1,
            "SOCKET_TIMEOUT": 1,
        },
    }
}
# Not cached: a session ended while Redis is away would come back to life with it.
SESSION_ENGINE = "django.contrib.sessions.backends.db"

# --- People -----------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
if TESTING:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("home")
PUBLIC_URL = env.str("PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600
# How many proxies of ours stand in front and append to X-Forwarded-For.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)
AXES_FAILURE_LIMIT = env.int("LOGIN_FAILURE_LIMIT", default=10)
AXES_COOLOFF_TIME = timedelta(minutes=env.int("LOGIN_LOCKOUT_MINUTES", default=15))
AXES_VERBOSE = False
# Both together: neither may one guesser lock a colleague out, nor one office all its people.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_FORM_FIELD = "username"
AXES_USERNAME_CALLABLE = "apps.accounts.lockout.name_of"
AXES_CLIENT_IP_CALLABLE = "axiom.api.client.client_ip"
AXES_LOCKOUT_CALLABLE = "apps.accounts.lockout.answer"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
REFRESH_TOKEN_DAYS = env.int("REFRESH_TOKEN_DAYS", default=14)
SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=env.int("ACCESS_TOKEN_MINUTES", default=15)),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=REFRESH_TOKEN_DAYS),
    "ROTATE_REFRESH_TOKENS": True,
    "BLACKLIST_AFTER_ROTATION": True,
}

# --- Language and time ------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("ko", _("Korean"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# --- API --------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.accounts.authentication.LoginAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["axiom.api.permissions.RolePermission"],
    "DEFAULT_THROTTLE_CLASSES": ["axiom.api.throttles.Throttle"],
    "DEFAULT_RENDERER_CLASSES": ["axiom.api.renderers.QuickJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "axiom.api.pagination.KeysetPagination",
    "DEFAULT_FILTER_BACKENDS": [
        "axiom.api.filters.Filters",
        "axiom.api.ordering.Ordering",
    ],
    "DEFAULT_METADATA_CLASS": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "DEFAULT_SCHEMA_CLASS": "axiom.api.schema.ConventionSchema",
    "EXCEPTION_HANDLER": "axiom.problems.handle",
}
API_THROTTLES = {
    "anon": env.str("THROTTLE_ANON", default="60/min"),
    "user": env.str("THROTTLE_USER", default="1200/min"),
    "login": env.str("THROTTLE_LOGIN", default="30/min"),
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Axiom",
    "VERSION": "1",
    "DEFAULT_GENERATOR_CLASS": "axiom.api.schema.Generator",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    # Names for choices of fields that are called the same in several places.
    "ENUM_NAME_OVERRIDES": {
        "DeadLetterStatus": "apps.events.models.DeadLetter.Status",
        "RedriveStatus": "apps.events.models.Redrive.Status",
        "DocumentState": "apps.documents.models.DocumentVersion.State",
        "CaseStatus": "apps.cases.models.Case.Status",
        "CaseKind": "apps.cases.models.Case.Kind",
        "DeadlineStatus": "apps.cases.models.Deadline.Status",
        "DeadlineEndStatus": "apps.cases.api.plan.DEADLINE_ENDS",
        "PaymentStatus": "apps.cases.models.Payment.Status",
        "PaymentEndStatus": "apps.cases.api.plan.PAYMENT_ENDS",
        "ReviewStatus": "apps.cases.models.Review.Status",
        "ReviewEndStatus": "apps.cases.api.plan.REVIEW_ENDS",
        "ApprovalStatus": "apps.cases.models.Approval.Status",
        "ProcessStatus": "apps.processes.models.ProcessInstance.Status",
        "WorkItemStatus": "apps.processes.models.WorkItem.Status",
        "DatabaseEngine": "apps.metadata.models.Engine",
        "ExtractionState": "apps.metadata.models.ExtractionRun.State",
        "ExtractionStep": "apps.metadata.models.ExtractionRun.Step",
        "ExtractionTrigger": "apps.metadata.models.ExtractionRun.Trigger",
        "CatalogChangeKind": "apps.metadata.models.CatalogChange.Kind",
        "DescriptionSource": "apps.metadata.models.catalog.Described.Source",
        "RoleName": "axiom.roles.Role",
        "AlertStatus": "apps.watch.models.Alert.Status",
        "Severity": "apps.watch.severity.Severity",
        "Channel": "apps.watch.models.Channel",
        "DeliveryState": "apps.notifications.models.Delivery.State",
        "DeliveryReason": "apps.notifications.models.Delivery.Reason",
        "DeliveryOutcome": "apps.notifications.models.DeliveryAttempt.Outcome",
        "EndpointKind": "apps.notifications.models.Endpoint.Kind",
        "RoomRole": "apps.chat.models.RoomMember.Role",
        "CheckedStatus": "axiom.references.Status",
    },
}

# --- Cases ------------------------------------------------------------------------------------
# How many days before a stakeholder's review it is announced.
CASES_REVIEW_NOTICE_DAYS = env.int("CASES_REVIEW_NOTICE_DAYS", default=3)
CASES_SCAN_SECONDS = env.float("CASES_SCAN_SECONDS", default=60)
COMMENT_COUNT_SECONDS = env.float("COMMENT_COUNT_SECONDS", default=3)
COMMENT_RECOVERY_SECONDS = env.float("COMMENT_RECOVERY_SECONDS", default=60)

# --- Events -----------------------------------------------------------------------------------
# What carries events to their readers: redis, or kafka (docs/adr/0026).
EVENTS_BUS, KAFKA_BOOTSTRAP = startup.event_bus(env)
# What else its client is to know: KAFKA_OPTIONS=security.protocol=SASL_SSL,sasl.username=axiom
KAFKA_OPTIONS = env.dict("KAFKA_OPTIONS", default={})
KAFKA_PARTITIONS = env.int("KAFKA_PARTITIONS", default=6)
EVENTS_BATCH = env.int("EVENTS_BATCH", default=500)
EVENTS_LEASE_SECONDS = env.int("EVENTS_LEASE_SECONDS", default=30)
EVENTS_NUDGE_PAUSE_SECONDS = env.float("EVENTS_NUDGE_PAUSE_SECONDS", default=1.0)
EVENTS_RETRY_SECONDS = env.list("EVENTS_RETRY_SECONDS", cast=float, default=[5, 15, 45])
EVENTS_HANDLER_TIMEOUT_SECONDS = env.float("EVENTS_HANDLER_TIMEOUT_SECONDS", default=30)
EVENTS_DRY_RUN_SECONDS = env.float("EVENTS_DRY_RUN_SECONDS", default=10)
EVENTS_RECLAIM_IDLE_SECONDS = env.int("EVENTS_RECLAIM_IDLE_SECONDS", default=300)
EVENTS_CHORE_SECONDS = env.float("EVENTS_CHORE_SECONDS", default=1.0)
EVENTS_TRIM_SECONDS = env.float("EVENTS_TRIM_SECONDS", default=5.0)
EVENTS_OUTBOX_DAYS = env.int("EVENTS_OUTBOX_DAYS", default=7)
EVENTS_INBOX_DAYS = env.int("EVENTS_INBOX_DAYS", default=14)
# Settled dead letters and what was done about them; the database refuses less than 30.
EVENTS_LETTER_DAYS = env.int("EVENTS_LETTER_DAYS", default=90)

# --- Processes --------------------------------------------------------------------------------
# A machine's result below this needs a person's approval, where the diagram says nothing else.
PROCESSES_CONFIDENCE = env.float("PROCESSES_CONFIDENCE", default=0.8)

# --- Metadata ---------------------------------------------------------------------------------
METADATA_CONNECT_SECONDS = env.int("METADATA_CONNECT_SECONDS", default=10)
METADATA_STATEMENT_SECONDS = env.float("METADATA_STATEMENT_SECONDS", default=120)
# The whole reading of one database, however its network behaves.
METADATA_READ_SECONDS = env.float("METADATA_READ_SECONDS", default=900)
METADATA_SCAN_SECONDS = env.float("METADATA_SCAN_SECONDS", default=60)
# SQLite databases are read from here and nowhere else.
METADATA_FILES_DIR = Path(env.str("METADATA_FILES_DIR", default=str(AXIOM_DIR / "sqlite")))
# Who writes descriptions; the endpoint speaks OpenAI's chat completions. Without one: nobody.
METADATA_GENERATOR = env.str(
    "METADATA_GENERATOR", default="apps.metadata.generators.ChatCompletions"
)
METADATA_GENERATOR_URL = env.str("METADATA_GENERATOR_URL", default="")
METADATA_GENERATOR_KEY = env.str("METADATA_GENERATOR_KEY", default="")
METADATA_GENERATOR_MODEL = env.str("METADATA_GENERATOR_MODEL", default="gpt-4o-mini")
METADATA_GENERATOR_SECONDS = env.float("METADATA_GENERATOR_SECONDS", default=60)

# --- Watch ------------------------------------------------------------------------------------
# Who is told when nobody acknowledges an alert; a tenant's own steps take the place of these.
WATCH_ESCALATION = [
    {
        "severity": "CRITICAL",
        "level": 1,
        "after_minutes": env.int("WATCH_ESCALATION_MINUTES", default=60),
        "audience": "case_manager",
        "channels": ["email", "in_app"],
    },
    {
        "severity": "CRITICAL",
        "level": 2,
        "after_minutes": env.int("WATCH_ESCALATION_AGAIN_MINUTES", default=120),
        "audience": "admin",
        "channels": ["email", "slack"],
    },
]
WATCH_ABSENCE_SCAN_SECONDS = env.int("WATCH_ABSENCE_SCAN_SECONDS", default=5)
WATCH_ESCALATION_SCAN_SECONDS = env.int("WATCH_ESCALATION_SCAN_SECONDS", default=300)
# How the team of an alert is told by whoever works on it; what people prefer counts.
WATCH_TEAM_CHANNELS = env.list("WATCH_TEAM_CHANNELS", default=["in_app", "email"])
# What is promised: 95 % acknowledged and resolved within, and at most so many raised for nothing.
WATCH_SLA = {
    "acknowledge_seconds": env.float("WATCH_SLA_ACKNOWLEDGE_SECONDS", default=15 * 60),
    "resolve_seconds": env.float("WATCH_SLA_RESOLVE_SECONDS", default=24 * 3600),
    "false_positive_share": env.float("WATCH_SLA_FALSE_POSITIVE_SHARE", default=0.1),
}
# Who is told when something is wrong with Axiom itself; no tenant named: all of them.
WATCH_SYSTEM_TENANTS = env.list("WATCH_SYSTEM_TENANTS", default=[])
WATCH_SYSTEM_ROLES = env.list("WATCH_SYSTEM_ROLES", default=["admin", "engineer"])
WATCH_SYSTEM_CHANNELS = env.list("WATCH_SYSTEM_CHANNELS", default=["in_app", "email", "slack"])
WATCH_SYSTEM_SCAN_SECONDS = env.int("WATCH_SYSTEM_SCAN_SECONDS", default=60)
# What was not wrong for so long is gone, and its alert resolved.
WATCH_SYSTEM_CALM_SECONDS = env.int("WATCH_SYSTEM_CALM_SECONDS", default=300)

# --- Notifications ----------------------------------------------------------------------------
NOTIFICATION_DAYS = env.int("NOTIFICATION_DAYS", default=30)
# Off, the collector is left as Python sets it: only to measure what the tuning brings.
LIVE_TUNES_GARBAGE = env.bool("LIVE_TUNES_GARBAGE", default=True)
DELIVERY_DAYS = env.int("DELIVERY_DAYS", default=90)
# How many of a channel are sent at the same moment and per second, over all processes.
NOTIFICATION_LANES = {
    channel: {
        "at_once": env.int(f"{channel.upper()}_AT_ONCE", default=at_once),
        "per_second": env.float(f"{channel.upper()}_PER_SECOND", default=per_second),
    }
    for channel, at_once, per_second in (
        ("email", 4, 14.0), ("slack", 4, 20.0), ("sms", 2, 10.0), ("webhook", 8, 50.0),
    )
}  # fmt: skip
NOTIFICATION_ATTEMPTS = env.int("NOTIFICATION_ATTEMPTS", default=6)
NOTIFICATION_RETRY_SECONDS = env.float("NOTIFICATION_RETRY_SECONDS", default=30)
NOTIFICATION_LONGEST_RETRY_SECONDS = 3600
NOTIFICATION_TIMEOUT_SECONDS = env.int("NOTIFICATION_TIMEOUT_SECONDS", default=10)
# Longer than any try can take: after it, whoever sends is taken for dead.
NOTIFICATION_LEASE_SECONDS = env.int("NOTIFICATION_LEASE_SECONDS", default=120)
NOTIFICATION_SWEEP_SECONDS = env.float("NOTIFICATION_SWEEP_SECONDS", default=10)
# For tests and development alone: webhooks and Slack messages may go to this machine.
NOTIFICATION_LOOPBACK = startup.boolean(env, "NOTIFICATION_LOOPBACK", default=False)
SLACK_HOSTS = ["hooks.slack.com", "hooks.slack-gov.com"]
WEBHOOK_SECRET_OVERLAP_HOURS = env.int("WEBHOOK_SECRET_OVERLAP_HOURS", default=24)
# Text messages go through Amazon SNS in this region; without one there are none.
SMS_REGION = env.str("SMS_REGION", default="")
SMS_SENDER = env.str("SMS_SENDER", default="")
SMS_ENDPOINT_URL = env.str("SMS_ENDPOINT_URL", default="")

# --- Mail -------------------------------------------------------------------------------------
# By SMTP where a host is named; otherwise by Amazon SES in production and into a folder elsewhere.
_MAIL_HOST = env.str("EMAIL_HOST", default="")
_MAIL_BACKENDS = {
    "smtp": "django.core.mail.backends.smtp.EmailBackend",
    "ses": "anymail.backends.amazon_ses.EmailBackend",
    "folder": "django.core.mail.backends.filebased.EmailBackend",
}
EMAIL_BACKEND = env.str(
    "EMAIL_BACKEND",
    default=_MAIL_BACKENDS["smtp" if _MAIL_HOST else "ses" if PRODUCTION else "folder"],
)
EMAIL_HOST = _MAIL_HOST or "localhost"
EMAIL_PORT = env.int("EMAIL_PORT", default=25)
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", default="")
EMAIL_HOST_PASSWORD = env.str("EMAIL_HOST_PASSWORD", default="")
EMAIL_USE_TLS = startup.boolean(env, "EMAIL_USE_TLS", default=False)
EMAIL_TIMEOUT = NOTIFICATION_TIMEOUT_SECONDS
EMAIL_FILE_PATH = AXIOM_DIR / "mail"
DEFAULT_FROM_EMAIL = env.str("MAIL_FROM", default="Axiom <axiom@localhost>")
_SES = {
    "region_name": env.str("SES_REGION", default=""),
    "endpoint_url": env.str("SES_ENDPOINT_URL", default=""),
}
ANYMAIL = {
    "AMAZON_SES_CLIENT_PARAMS": {
        **{name: value for name, value in _SES.items() if value},
        # No retries of its own: who tries again, and when, is decided in one place.
        "config": {
            "connect_timeout": NOTIFICATION_TIMEOUT_SECONDS,
            "read_timeout": NOTIFICATION_TIMEOUT_SECONDS,
            "retries": {"total_max_attempts": 1},
        },
    }
}

# --- Work in the background -------------------------------------------------------------------
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Sent by a worker of its own: a peer that hangs must not hold up what others wait for.
CELERY_TASK_ROUTES = {"apps.notifications.tasks.deliver": {"queue": "deliveries"}}
CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": "axiom:celery:"}
CELERY_BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    "sweep documents": {"task": "apps.documents.tasks.sweep_orphans", "schedule": 3600},
    # `expires`: what a worker that was away did not do is done by the next turn, not ten times.
    "scan cases": {
        "task": "apps.cases.tasks.scan_cases",
        "schedule": CASES_SCAN_SECONDS,
        "options": {"expires": CASES_SCAN_SECONDS},
    },
    "count comments": {
        "task": "apps.cases.tasks.add_comment_deltas",
        "schedule": COMMENT_COUNT_SECONDS,
        "options": {"expires": COMMENT_COUNT_SECONDS},
    },
    "recover comment counts": {
        "task": "apps.cases.tasks.recover_comment_counts",
        "schedule": COMMENT_RECOVERY_SECONDS,
        "options": {"expires": COMMENT_RECOVERY_SECONDS},
    },
    "forget count batches": {
        "task": "apps.cases.tasks.purge_count_batches",
        "schedule": 24 * 3600,
    },
    "read data sources": {
        "task": "apps.metadata.tasks.start_due",
        "schedule": METADATA_SCAN_SECONDS,
        "options": {"expires": METADATA_SCAN_SECONDS},
    },
    "forget stored answers": {"task": "axiom.tasks.purge_answers", "schedule": 3600},
    "fire timers of processes": {"task": "apps.processes.tasks.fire_timers", "schedule": 10},
    "forget old notifications": {
        "task": "apps.notifications.tasks.purge_notifications",
        "schedule": 3600,
    },
    "sweep deliveries": {
        "task": "apps.notifications.tasks.sweep_deliveries",
        "schedule": NOTIFICATION_SWEEP_SECONDS,
        "options": {"expires": NOTIFICATION_SWEEP_SECONDS},
    },
    "forget old logins": {"task": "apps.accounts.tasks.purge_logins", "schedule": 24 * 3600},
    "fire what did not happen": {
        "task": "apps.watch.tasks.fire_due",
        "schedule": WATCH_ABSENCE_SCAN_SECONDS,
        "options": {"expires": WATCH_ABSENCE_SCAN_SECONDS},
    },
    "rebuild windows": {"task": "apps.watch.tasks.rebuild_waiting_windows", "schedule": 60},
    "forget old windows": {"task": "apps.watch.tasks.purge_windows", "schedule": 3600},
    "escalate": {
        "task": "apps.watch.tasks.escalate",
        "schedule": WATCH_ESCALATION_SCAN_SECONDS,
    },
    "watch the system": {
        "task": "apps.watch.tasks.watch_system",
        "schedule": WATCH_SYSTEM_SCAN_SECONDS,
    },
}
CELERY_TIMEZONE = "UTC"

# --- Files ------------------------------------------------------------------------------------
STATIC_URL = "static/"
# Collected only for production; elsewhere files are served from where they are written.
STATIC_ROOT = env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles") if PRODUCTION else None)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION

# --- Oracle -----------------------------------------------------------------------------------
# What makes vectors of names and descriptions: a class, see apps/oracle/embedding.py.
ORACLE_EMBEDDER = env.str("ORACLE_EMBEDDER", default="apps.oracle.embedding.CharacterNGrams")

# --- Documents --------------------------------------------------------------------------------
# Outside of everything that is served; every process that reads or makes documents sees it.
DOCUMENTS_DIR = Path(env.str("DOCUMENTS_DIR", default=str(AXIOM_DIR / "documents")))
DOCUMENTS_MAX_BYTES = env.int("DOCUMENTS_MAX_BYTES", default=50 * 1024 * 1024)
DOCUMENTS_MAX_PAGES = env.int("DOCUMENTS_MAX_PAGES", default=500)
DOCUMENTS_MAX_PIXELS = env.int("DOCUMENTS_MAX_PIXELS", default=50_000_000)
DOCUMENTS_TESSERACT = env.str("DOCUMENTS_TESSERACT", default="tesseract")
DOCUMENTS_OCR_LANGUAGES = env.str("DOCUMENTS_OCR_LANGUAGES", default="kor+eng")
DOCUMENTS_INSPECT_SECONDS = env.float("DOCUMENTS_INSPECT_SECONDS", default=20)
DOCUMENTS_PAGE_SECONDS = env.float("DOCUMENTS_PAGE_SECONDS", default=60)
DOCUMENTS_JOB_SECONDS = env.float("DOCUMENTS_JOB_SECONDS", default=3600)
DOCUMENTS_CHILD_MEMORY_MB = env.int("DOCUMENTS_CHILD_MEMORY_MB", default=2048)
DOCUMENTS_JOBS_AT_ONCE = env.int("DOCUMENTS_JOBS_AT_ONCE", default=2)
# The body of a request: one document and the form around it.
REQUEST_MAX_BYTES = DOCUMENTS_MAX_BYTES + 1024 * 1024

# --- Safety -----------------------------------------------------------------------------------
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PRODUCTION else None
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_FAILURE_VIEW = "axiom.problems.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "object-src": ["'none'"],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": ["'none'"],
    }
}
# The console's toolkit evaluates expressions written in its pages and styles them in place.
CONSOLE_POLICY_ADDITIONS = {
    "script-src": ["'unsafe-eval'"],
    "style-src": ["'unsafe-inline'"],
}
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in ("camera", "microphone", "geolocation", "payment", "usb", "browsing-topics")
)
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

# --- Telling what happens ---------------------------------------------------------------------
LOG_LEVEL = startup.one_of(
    env, "LOG_LEVEL", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], default="INFO"
)
LOGGING_CONFIG = "axiom.logs.configure"
LOG_FORMAT = startup.one_of(env, "LOG_FORMAT", ["json", "text"], default="json")
LOGGING = {"level": LOG_LEVEL, "format": LOG_FORMAT}
# Every process on this machine counts here, and /metrics adds up.
METRICS_DIR = Path(env.str("METRICS_DIR", default=str(AXIOM_DIR / "metrics")))
# Who may read /metrics: the bearer of this token. Without one: this machine, not in production.
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

# --- Console ----------------------------------------------------------------------------------
UNFOLD = {
    "SITE_TITLE": "Axiom",
    "SITE_HEADER": "Axiom",
    "SITE_SUBHEADER": "axiom.console.tenants.subheader",
    "SITE_SYMBOL": "hub",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "axiom.console.site.icon"}],
    "STYLES": ["axiom.console.site.styles"],
    "COLORS": {
        "primary": {
            "50": "oklch(98.4% .014 180.7)",
            "100": "oklch(95.3% .051 180.8)",
            "200": "oklch(91% .096 180.4)",
            "300": "oklch(85.5% .138 181.1)",
            "400": "oklch(77.7% .152 181.9)",
            "500": "oklch(70.4% .14 182.5)",
            "600": "oklch(51.1% .096 186.4)",
            "700": "oklch(43.7% .078 188.2)",
            "800": "oklch(38.6% .063 188.4)",
            "900": "oklch(32% .05 189)",
            "950": "oklch(27.7% .046 192.5)",
        },
    },
    "SHOW_LANGUAGES": True,
    "LANGUAGES": {"action": reverse_lazy("admin:language")},
    "ACCOUNT": {
        "navigation": [
            {"title": _("Your profile"), "link": reverse_lazy("admin:profile")},
            {"title": _("Switch tenant"), "link": reverse_lazy("admin:tenant")},
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
        ]
    },
    "SIDEBAR": {"show_search": True, "navigation": "axiom.console.navigation.sidebar"},
}
