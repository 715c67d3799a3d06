"""The project. Importing it binds shared tasks to the Celery application."""

from interview_site.celery import app as celery_app

__all__ = ["celery_app"]
