"""A developer's own settings, which must not reach a test: each place that begins one takes them away."""

NOT_OURS = (
    "REDIS_URL",
    "DATABASE_URL",
    "ASR_URLS",
    "LLM_URLS",
    "LLM_MODEL",
    "LLM_API_KEY",
    "PORT",
    "RUN_MAIN",
    "ALLOWED_ORIGINS",
)
