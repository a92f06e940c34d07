"""The theory of partition learning as functions: what it promises, and under which assumptions."""
