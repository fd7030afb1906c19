"""What a fix may change (`changes`) and how that becomes text (`realise`)."""
