"""The settings page, made from the declarations in ``app.settings``."""
