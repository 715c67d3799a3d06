"""Interviews as rows: what is asked, who answers, what was said. The database is the truth."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Organisation


class InterviewLanguage(models.TextChoices):
    EN = "en", "English"
    ZH = "zh", "中文"


class Template(models.Model):
    """A set of questions. `practice` ones are open to anybody on the landing page."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="templates")
    slug = models.SlugField(max_length=80)
    title = models.CharField(_("title"), max_length=200)
    summary = models.CharField(_("summary"), max_length=400, blank=True)
    language = models.CharField(_("language"), max_length=5, choices=InterviewLanguage.choices)
    practice = models.BooleanField(_("practice"), default=False)
    follow_ups = models.BooleanField(_("ask follow-up questions"), default=True)
    detect_language = models.BooleanField(_("find the spoken language from the first words"), default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("interview template")
        verbose_name_plural = _("interview templates")
        constraints = [models.UniqueConstraint(fields=["organisation", "slug"], name="one_template_slug")]

    def __str__(self) -> str:
        return self.title


class Question(models.Model):
    class Kind(models.TextChoices):
        BEHAVIOURAL = "behavioural", _("behavioural")
        TECHNICAL = "technical", _("technical or design")
        MOTIVATIONAL = "motivational", _("motivational")
        FACTUAL = "factual", _("factual")

    template = models.ForeignKey(Template, on_delete=models.CASCADE, related_name="questions")
    position = models.PositiveSmallIntegerField(_("position"))
    text = models.TextField(_("question"))
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    terms = models.CharField(_("terms"), max_length=400, blank=True, help_text=_("Names likely to be said"))
    expected_points = models.JSONField(_("expected points"), default=list, blank=True)
    limit_s = models.PositiveSmallIntegerField(_("time limit in seconds"), default=600)

    class Meta:
        verbose_name = _("question")
        verbose_name_plural = _("questions")
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["template", "position"], name="one_question_per_position")
        ]

    def __str__(self) -> str:
        return self.text[:60]


class Candidate(models.Model):
    """Somebody who answers, bound to a login session and without a password."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="candidates")
    name = models.CharField(_("name"), max_length=120, blank=True)
    # A random key kept in the login session: Django rotates session keys at sign-in, this one stays.
    session_token = models.CharField(max_length=64, db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("candidate")
        verbose_name_plural = _("candidates")

    def __str__(self) -> str:
        return self.name or gettext("Candidate %(short)s") % {"short": self.public_id.hex[:6]}


class Interview(models.Model):
    class Status(models.TextChoices):
        NOTICE = "notice", _("not started")
        LIVE = "live", _("in progress")
        FINISHED = "finished", _("finished")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="interviews")
    template = models.ForeignKey(Template, on_delete=models.PROTECT, related_name="interviews")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="interviews")
    language = models.CharField(max_length=5, choices=InterviewLanguage.choices)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.NOTICE)
    notice_version = models.CharField(max_length=40, blank=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    generation = models.PositiveIntegerField(default=0)  # grows with each hello; a lower one may not write
    last_eid = models.PositiveBigIntegerField(default=0)
    # Raised by whichever process holds its socket: an interview whose beat stands still was left.
    beat = models.PositiveBigIntegerField(default=0)
    resume_hash = models.CharField(max_length=64, blank=True)
    resume_expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("interview")
        verbose_name_plural = _("interviews")
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                name="consent_before_start",
                condition=models.Q(status="notice")
                | (models.Q(consented_at__isnull=False) & ~models.Q(notice_version="")),
            )
        ]

    def __str__(self) -> str:
        return f"{self.template} · {self.candidate}"


class Turn(models.Model):
    """One question asked and its answer. `number` is the socket's `answer`."""

    class Kind(models.TextChoices):
        MAIN = "main", _("question")
        FOLLOW_UP = "follow_up", _("follow-up")

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        ANSWERED = "answered", _("answered")
        SKIPPED = "skipped", _("skipped")
        UNSCORED = "unscored", _("not scored")

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveSmallIntegerField()
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.MAIN)
    question_text = models.TextField()
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    input = models.CharField(max_length=5, choices=[("voice", "voice"), ("text", "text")], default="voice")
    end_reason = models.CharField(max_length=12, blank=True)
    transcript = models.TextField(blank=True)
    low_confidence = models.BooleanField(default=False)
    epoch = models.CharField(max_length=32, blank=True)
    audio_path = models.CharField(max_length=300, blank=True)  # relative to the media root
    audio_s = models.FloatField(default=0)
    # False: the turn was closed before the page had handed everything in; the rest may still come.
    audio_complete = models.BooleanField(default=True)
    missing = models.JSONField(default=list, blank=True)  # [{at_s, seconds, why}], audio lost for good
    late_s = models.FloatField(default=0)  # how much of the audio came after the turn was closed
    speech_s = models.FloatField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    last_seq = models.BigIntegerField(null=True, blank=True)
    opened_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("answer")
        verbose_name_plural = _("answers")
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["interview", "number"], name="one_turn_per_number")]

    def __str__(self) -> str:
        return f"{self.interview_id}/{self.number}"


class Utterance(models.Model):
    """A final transcript between two silences. Words: [{text, start_s, end_s, confidence, heard}]."""

    class Decode(models.TextChoices):
        LIVE = "live", "live"
        FULL = "full", "full"  # again after the interview, with the full window

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="utterances")
    number = models.PositiveSmallIntegerField()
    decode = models.CharField(max_length=4, choices=Decode.choices, default=Decode.LIVE)
    text = models.TextField(blank=True)
    raw_text = models.TextField(blank=True)  # as the engine wrote it, where terms were corrected
    words = models.JSONField(default=list)
    start_s = models.FloatField()
    end_s = models.FloatField()
    confidence = models.FloatField(default=0)
    low_confidence = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("utterance")
        verbose_name_plural = _("utterances")
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "number", "decode"], name="one_utterance_per_decode")
        ]

    def __str__(self) -> str:
        return f"{self.turn_id}/{self.number}"


class Ticket(models.Model):
    """Opens one socket once, within 30 s. Only the hash is kept."""

    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="tickets")
    token_hash = models.CharField(max_length=64, unique=True)
    session_token = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("ticket")
        verbose_name_plural = _("tickets")

    def __str__(self) -> str:
        return f"ticket of {self.interview_id}"


class Event(models.Model):
    """A durable live event, replayed after a reconnect. Payload: inference.events as JSON."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    interview = models.ForeignKey(Interview, on_delete=models.CASCADE, related_name="events")
    eid = models.PositiveBigIntegerField()
    type = models.CharField(max_length=40)
    turn_number = models.PositiveSmallIntegerField(null=True, blank=True)
    payload = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["eid"]
        constraints = [models.UniqueConstraint(fields=["interview", "eid"], name="one_event_per_eid")]

    def __str__(self) -> str:
        return f"{self.interview_id}#{self.eid} {self.type}"
