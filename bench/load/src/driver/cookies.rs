//! Cookie jars of sessions.
