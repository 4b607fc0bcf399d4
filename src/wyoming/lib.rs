//! The Wyoming protocol: the messages of voice programs, and a client for speech-to-text and text-to-speech.
