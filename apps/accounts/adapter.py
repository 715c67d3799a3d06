"""Who may have an account: people whom an operator or a colleague made one for."""

from __future__ import annotations

from typing import ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _


class InvitedOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages: ClassVar[dict[str, object]] = {
        **DefaultAccountAdapter.error_messages,
        "email_password_mismatch": _("The e-mail address or the password is not right."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
