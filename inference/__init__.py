"""Live speech to feedback, as pure Python: no Django, no sockets, no database."""
