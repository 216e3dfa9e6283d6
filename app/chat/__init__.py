"""The page where one chats: transcript, composer, model picker, options, and the sidebar's list of chats."""
