"""Whose rows a signed-in person may see. Every page, API and admin list asks here and nowhere else."""

from __future__ import annotations

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from apps.accounts.models import Organisation, User


def organisations_for(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Organisation]:
    """Organisations the user works for; all of them for an operator (superuser)."""
    if not isinstance(user, User) or not user.is_active:
        return Organisation.objects.none()
    if user.is_superuser:
        return Organisation.objects.all()
    return Organisation.objects.filter(memberships__user=user).distinct()
