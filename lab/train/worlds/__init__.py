"""Dialogues from simulated small worlds and from stories. In: seeds. Out: JSONL for fine-tuning."""
