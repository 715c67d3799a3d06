"""Django settings. Every environment variable is declared through env.setting."""

from __future__ import annotations

import secrets
import sys
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

from interview_site import env

BASE_DIR = env.ROOT
VAR_DIR = env.setting(
    "VAR_DIR",
    env.path,
    BASE_DIR / "var",
    "Where Viva keeps its database, recordings, models and logs.",
    "var/",
)
DEBUG = env.setting(
    "DEBUG", env.boolean, True, "1 on a laptop; 0 in production (then SECRET_KEY is required).", "1"
)


def _development_secret() -> str:
    """A random key kept in var/, so that a laptop's sign-ins survive a restart."""
    kept = VAR_DIR / "secret_key"
    try:
        return kept.read_text()
    except OSError:
        key = secrets.token_urlsafe(50)
    try:
        VAR_DIR.mkdir(parents=True, exist_ok=True)
        kept.touch(mode=0o600)
        kept.write_text(key)
    except OSError as exc:
        raise ImproperlyConfigured(
            f"{VAR_DIR} cannot be written ({exc.strerror}). "
            "Make it writable, or set VAR_DIR to a folder that is."
        ) from exc
    return key


SECRET_KEY = env.setting(
    "SECRET_KEY", env.text, "", "Signs sessions and tokens. Required when DEBUG=0.", "made once, kept in var/"
)
if not SECRET_KEY:
    if not DEBUG:
        raise ImproperlyConfigured(
            "SECRET_KEY is empty. Set it to 50 or more random characters when DEBUG=0."
        )
    SECRET_KEY = _development_secret()

ALLOWED_ORIGINS = env.setting(
    "ALLOWED_ORIGINS",
    env.http_urls,
    env.NO_URLS,
    "Origins that may open pages and sockets, such as https://interviews.example.org. Scheme and port count.",
    "any host of this machine when DEBUG=1",
)
ALLOWED_HOSTS = [origin.split("//")[1].split(":")[0] for origin in ALLOWED_ORIGINS] or (
    ["localhost", "127.0.0.1", "[::1]", "testserver"] if DEBUG else []
)
CSRF_TRUSTED_ORIGINS = list(ALLOWED_ORIGINS)
PORT = env.setting("PORT", env.port, 8000, "Where `make run` and `manage.py runserver` listen.")

INSTALLED_APPS = [
    "apps.ops",  # before daphne: its runserver brings Redis and the worker up
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "django_prometheus",
    "allauth",
    "allauth.account",
    "apps.accounts",
    "apps.interviews",
    "apps.assessment",
    "apps.privacy",
    "apps.recruiting",
    "apps.live",
]
MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "interview_site.error_pages.failures",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "apps.ops.middleware.permissions_policy",
    "django_htmx.middleware.HtmxMiddleware",
    "interview_site.error_pages.missing_pages",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
ROOT_URLCONF = "interview_site.urls"
ASGI_APPLICATION = "interview_site.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
            ]
        },
    }
]

DATABASE_URL = env.setting(
    "DATABASE_URL",
    env.database_url,
    "",
    "postgres://user:password@host/name, or sqlite:///path.",
    "SQLite in var/",
)
DATABASES: dict[str, dict[str, Any]] = {
    "default": environ.Env.db_url_config(DATABASE_URL or f"sqlite:///{VAR_DIR / 'viva.sqlite3'}")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        # IMMEDIATE takes the write lock at BEGIN: two writers wait instead of failing halfway.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # secure_delete: what is erased is overwritten, not only unlinked from its table.
        "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA secure_delete=ON;",
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 60
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.setting(
    "REDIS_URL", env.redis_url, "", "redis://host:6379", "an embedded server on a free port"
)
_REDIS = (
    REDIS_URL or "redis://127.0.0.1:6379"
)  # runserver sets REDIS_URL before the embedded server's children start
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # A web process joins its group anew every 30 s; one that died is soon out of it.
        # redis-py 8 gives up a blocking read after 5 s, which would kill every idle socket.
        "CONFIG": {"hosts": [{"address": _REDIS + "/1", "socket_timeout": None}], "group_expiry": 120},
    }
}
CELERY_BROKER_URL = _REDIS + "/0"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A limit per task would cut jobs of many steps: the keeper in apps.ops.lease_keeper kills a step that is over
# its 30 or 60 s. This one ends a process whose threads all stand still, the keeper's too.
CELERY_TASK_TIME_LIMIT = 3600
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 20  # on SIGQUIT, or SIGTERM with REMAP_SIGTERM=SIGQUIT
CELERY_TASK_DEFAULT_QUEUE = "analysis"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # Redis may be away for as long as it likes
CELERY_WORKER_CONSUMER = "apps.ops.prompt_consumer:PromptConsumer"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "queue_order_strategy": "priority",
    "priority_steps": list(range(10)),
    "sep": ":",
    # The message of a job that takes longer is delivered again; the job's row says that somebody works on it.
    "visibility_timeout": 120,
    # The defaults look every 100 s for messages that a killed worker held.
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_connect_timeout": 1,
}
CELERY_TASK_PUBLISH_RETRY = False  # the outbox tries again; a request never waits for a broker

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "apps.accounts.adapter.InvitedOnlyAdapter"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/recruiting/"
LOGOUT_REDIRECT_URL = "/"
EMAIL_URL = env.setting(
    "EMAIL_URL",
    env.email_url,
    # A console is a log in production, and mails hold links that open accounts.
    env.email_url("consolemail://" if DEBUG else "dummymail://"),
    "Where mail goes: smtp+tls://user:password@host:587.",
    "the console when DEBUG=1, else nowhere",
)
globals().update(EMAIL_URL)  # EMAIL_BACKEND, EMAIL_HOST and so on
EMAIL_TIMEOUT = 10

LANGUAGE_CODE = env.setting(
    "LANGUAGE_CODE",
    env.one_of("en", "zh-hans"),
    "en",
    "The pages' language where the browser asks for none of ours: en or zh-hans.",
)
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
MEDIA_ROOT = VAR_DIR / "media"
SPOOL_DIR = VAR_DIR / "spool"

MODELS_DIR = env.setting("MODELS_DIR", env.path, VAR_DIR / "models", "Where speech models lie.", "var/models")
ASR_MODEL = env.setting(
    "ASR_MODEL", env.text, "base", "Speech model: tiny, base, small, or the path of a model's folder."
)
ASR_DEVICE = env.setting(
    "ASR_DEVICE", env.one_of("cpu", "cuda", "auto"), "cpu", "Where it runs: cpu, cuda or auto."
)
ASR_AT_ONCE = env.setting(
    "ASR_AT_ONCE",
    env.whole_number(64),
    2,
    "Live utterances worked on side by side, each in a process of its own (220 MB with base): one a core.",
)
ASR_THREADS = env.setting(
    "ASR_THREADS",
    env.whole_number(64),
    1,
    "CPU threads of each live speech process. More made base slower.",
)
ASR_URLS = env.setting(
    "ASR_URLS",
    env.http_urls,
    env.NO_URLS,
    "OpenAI-compatible speech servers, one as good as the other, such as http://10.0.0.7:8000/v1. "
    "Answers' audio is sent to them; ASR_MODEL, if it is here, hears while none answers.",
    "none: ASR_MODEL hears, on this machine",
)
ASR_REMOTE_MODEL = env.setting("ASR_REMOTE_MODEL", env.text, "whisper-1", "Model name to ask ASR_URLS for.")
ASR_API_KEY = env.setting("ASR_API_KEY", env.text, "", "Sent as a bearer token to ASR_URLS.", "none")
ASR_REMOTE_AT_ONCE = env.setting(
    "ASR_REMOTE_AT_ONCE",
    env.whole_number(256),
    4,
    "Utterances that each server of ASR_URLS works on at once.",
)
LLM_URLS = env.setting(
    "LLM_URLS",
    env.http_urls,
    env.NO_URLS,
    "OpenAI-compatible base URLs, first tier first, such as http://127.0.0.1:8100/v1.",
    "none: the rule engine judges alone",
)
LLM_MODEL = env.setting("LLM_MODEL", env.text, "", "Model name to ask for.", "the server's first model")
LLM_API_KEY = env.setting("LLM_API_KEY", env.text, "", "Sent as a bearer token to LLM_URLS.", "none")
METRICS_TOKEN = env.setting(
    "METRICS_TOKEN",
    env.text,
    "",
    "Bearer token that opens /metrics to another machine.",
    "none: this machine only",
)
MAX_LIVE_SESSIONS = env.setting(
    "MAX_LIVE_SESSIONS",
    env.whole_number(10_000),
    10,
    "Live interviews one web process takes; a page beyond them is told to wait (close code 4429).",
)
RESUME_GRACE_S = env.setting(
    "RESUME_GRACE_S",
    env.seconds(10, 86_400),
    900,
    "Seconds after which an interview that nobody came back to is closed and analysed.",
)

SESSION_ENGINE = "apps.ops.session_store"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 60 * 60 * 24 * 14
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_SSL_REDIRECT = env.setting(
    "SECURE_SSL_REDIRECT",
    env.boolean,
    not DEBUG,
    "Send http to https. 0 where a proxy in front already does.",
    "1 when DEBUG=0",
)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # asked by machines inside, over http
if not DEBUG:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

_SELF = "'self'"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [_SELF],
        "script-src": [_SELF],
        "style-src": [_SELF],
        "img-src": [_SELF, "data:"],
        "media-src": [_SELF, "blob:"],
        "connect-src": [_SELF],
        "worker-src": [_SELF],
        "object-src": ["'none'"],
        "base-uri": [_SELF],
        "form-action": [_SELF],
        "frame-ancestors": ["'none'"],
    }
}

LOG_LEVEL = env.setting(
    "LOG_LEVEL", env.one_of("DEBUG", "INFO", "WARNING", "ERROR"), "INFO", "How much is logged."
)
# Below these levels libraries log requests, prompts, rows or frames: held there whatever LOG_LEVEL says.
_QUIET = {
    "aioredis": "WARNING",
    "asyncio": "WARNING",
    "autobahn": "WARNING",
    "celery.app.trace": "WARNING",
    "channels_redis": "WARNING",
    "daphne": "WARNING",
    "django.channels.server": "WARNING",
    "django.db.backends": "INFO",
    "faster_whisper": "WARNING",
    "httpcore2": "WARNING",
    "httpx2": "WARNING",
    "kombu": "WARNING",
    "openai": "WARNING",
    "twisted": "WARNING",
}
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "interview_site.logs.LineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": sys.stderr}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL},
        **{name: {"level": level} for name, level in _QUIET.items()},
    },
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # or it would log with a format and tracebacks of its own
