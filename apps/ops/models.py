"""Jobs as rows: the outbox, the lease and the verdict. Redis is only a doorbell."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _


class Job(models.Model):
    """Work for after the interview. Written in the transaction that makes it necessary.

    `organisation_id` and `subject_id` are plain keys: ops knows no other app.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        DEAD = "dead", _("failed")
        TIMEOUT = "timeout", _("timed out")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    organisation_id = models.BigIntegerField()
    kind = models.CharField(max_length=40)
    subject_id = models.BigIntegerField()
    priority = models.PositiveSmallIntegerField(default=2)
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    fence = models.PositiveIntegerField(default=0)  # grows with each lease; a stale holder may not write
    beat = models.PositiveBigIntegerField(default=0)  # raised by a living holder; still for long: it is lost
    rings = models.PositiveIntegerField(default=0)  # how often a sweeper rang again
    published_at = models.DateTimeField(null=True, blank=True)  # for people; decides nothing
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        constraints = [models.UniqueConstraint(fields=["kind", "subject_id"], name="one_job_per_subject")]
        indexes = [models.Index(fields=["status", "priority"], name="open_jobs")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id} {self.status}"
