"""Small controls every page shares. They know tokens and icons, never services, the engine or a page."""
