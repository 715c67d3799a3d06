"""The site's settings with a channel layer inside the process: these tests need no Redis."""

from interview_site.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
