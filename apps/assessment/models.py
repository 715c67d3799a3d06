"""What answers are worth, with the words that led there. Scores are 0-10 with one decimal."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.interviews.models import Interview, Turn


class Score(models.Model):
    """One reading of one answer: live (shown at once) or deep (after the interview, over the full decode)."""

    class Stage(models.TextChoices):
        LIVE = "live", _("live")
        DEEP = "deep", _("after the interview")

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="scores")
    stage = models.CharField(max_length=5, choices=Stage.choices, default=Stage.LIVE)
    rev = models.PositiveSmallIntegerField(default=0)
    value = models.DecimalField(_("score"), max_digits=3, decimal_places=1)
    grade = models.CharField(_("grade"), max_length=1)
    source = models.CharField(max_length=6)  # rules or llm
    model = models.CharField(max_length=120, blank=True)
    prompt_version = models.CharField(max_length=40, blank=True)
    weakness = models.TextField(blank=True)
    follow_up = models.TextField(blank=True)
    low_confidence = models.BooleanField(default=False)
    flags = models.JSONField(default=list)
    caps = models.JSONField(default=list)
    star = models.JSONField(default=dict)
    quantified = models.JSONField(default=list)
    relevance = models.FloatField(default=0)
    fillers = models.PositiveSmallIntegerField(default=0)
    pace = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("score")
        verbose_name_plural = _("scores")
        constraints = [models.UniqueConstraint(fields=["turn", "stage"], name="one_score_per_stage")]

    def __str__(self) -> str:
        return f"{self.value} ({self.grade})"


class Evidence(models.Model):
    """One dimension of a score. Quotes: [{text, start_s|null, end_s|null}], substrings of the transcript."""

    score = models.ForeignKey(Score, on_delete=models.CASCADE, related_name="evidence")
    dimension = models.CharField(max_length=12)
    value = models.DecimalField(max_digits=3, decimal_places=1)
    weight = models.FloatField()
    comment = models.TextField(blank=True)
    quotes = models.JSONField(default=list)

    class Meta:
        verbose_name = _("evidence")
        verbose_name_plural = _("evidence")
        constraints = [
            models.UniqueConstraint(fields=["score", "dimension"], name="one_evidence_per_dimension")
        ]

    def __str__(self) -> str:
        return f"{self.dimension} {self.value}"


class Correction(models.Model):
    """What audio that came late made of an answer: its live words and score before, what counts since.

    One for each recording that was heard anew, which is what makes hearing it twice harmless.
    """

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="corrections")
    sha256 = models.CharField(max_length=64)  # of the recording that was heard
    late_s = models.FloatField()
    transcript_before = models.TextField(blank=True)
    transcript_after = models.TextField(blank=True)
    value_before = models.DecimalField(max_digits=3, decimal_places=1, null=True, blank=True)
    value_after = models.DecimalField(max_digits=3, decimal_places=1, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("correction")
        verbose_name_plural = _("corrections")
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "sha256"], name="one_correction_per_recording")
        ]

    def __str__(self) -> str:
        return f"{self.value_before} -> {self.value_after}"


class Report(models.Model):
    """The interview as a whole. `mean` leaves unanswered questions out; `coverage` counts them."""

    class Status(models.TextChoices):
        LIVE = "live", _("from the live answers")
        FINAL = "final", _("final")
        FAILED = "failed", _("failed")

    interview = models.OneToOneField(Interview, on_delete=models.CASCADE, related_name="report")
    status = models.CharField(max_length=6, choices=Status.choices, default=Status.LIVE)
    mean = models.DecimalField(max_digits=3, decimal_places=1, null=True, blank=True)
    grade = models.CharField(max_length=1, blank=True)
    answered = models.PositiveSmallIntegerField(default=0)
    asked = models.PositiveSmallIntegerField(default=0)
    next_steps = models.JSONField(default=list)  # what to try next, in the interview's language
    reason = models.CharField(max_length=200, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("report")
        verbose_name_plural = _("reports")

    def __str__(self) -> str:
        return f"report of {self.interview_id}"
