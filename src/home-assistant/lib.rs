//! A client of Home Assistant: REST for actions, WebSocket for the live state of its entities.
