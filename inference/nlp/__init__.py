"""The rule engine: reads an answer in English or Chinese against the rubric, without any model."""
