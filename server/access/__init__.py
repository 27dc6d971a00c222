"""Who may do what in a lab: tokens, share links, limits, masks, and what is written down of it."""
