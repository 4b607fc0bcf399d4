//! A client of an MQTT broker: reconnects, subscribes again, and keeps the last retained values.
