"""Signed-in people for tests of recruiters' pages."""

from __future__ import annotations

import uuid

from django.test import Client

from apps.accounts.models import Membership, Organisation, User

PASSWORD = "a long enough password"


def recruiter(organisation: Organisation | None, password: str | None = None, **fields: bool) -> User:
    """A member of the organisation. Without a password, which is slow to hash, only `client_of` signs in."""
    user = User.objects.create_user(f"{uuid.uuid4().hex[:8]}@example.org", password, **fields)
    if organisation is not None:
        Membership.objects.create(organisation=organisation, user=user)
    return user


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
