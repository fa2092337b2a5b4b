"""How many graph breaks of real models the offered fixes remove: each model copied in as the user's own code."""
