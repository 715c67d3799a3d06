"""Load on a real site: how many pages it carries, and what a hostile one costs the others."""
