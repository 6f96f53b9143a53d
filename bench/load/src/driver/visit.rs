//! Runs of sessions.
