"""The protocol's proof: a page, a lossy link and the real server behind it, moved by Hypothesis.

`python -m tests.live.machine --runs 10000 --jobs 2`
"""
