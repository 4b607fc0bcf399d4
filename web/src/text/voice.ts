// Texts of voice: the microphone, reading aloud, and the addresses that may speak to Hob.

export const voice = {
  speak: 'Speak',
  stop: 'Stop recording',
  cancel: 'Discard the recording',
  hearing: 'Listening…',
  transcribing: 'Writing down what you said…',
  nothing: 'I heard no words. Try again, closer to the microphone.',
  refused: 'The browser does not allow the microphone here. Allow it in the browser’s settings for this page.',
  insecure: 'Browsers give the microphone to encrypted pages only. Open this page with https.',
  missing: 'This browser finds no microphone.',

  read: 'Read aloud',
  stopReading: 'Stop reading',

  clients: 'Who speaks to Hob',
  clientsWhy: 'Home Assistant and voice satellites. What an address says is done once you approve it; locks, alarms and private notes stay out of its reach.',
  wants: (who: string) => `${who} wants to speak to Hob.`,
  wantsWhy: 'If you have just added Hob to Home Assistant, this is it.',
  approve: 'Approve',
  approveOf: (who: string) => `Approve ${who}`,
  deny: 'Deny',
  denyOf: (who: string) => `Deny ${who}`,
  remove: 'Remove',
  removeOf: (who: string) => `Remove ${who}`,
  status: { pending: 'waits for you', approved: 'may speak', denied: 'denied' } as Record<string, string>,
};

export const nearby = {
  kinds: {
    hob: 'Hobs', 'home-assistant': 'Home Assistant', wyoming: 'Voice servers', mqtt: 'MQTT brokers', esphome: 'ESPHome devices', printer: 'Printers',
  } as Record<string, string>,
  connect: 'Connect…',
  connectOf: (name: string) => `Connect ${name}`,
  modelsWhy: 'Looks for Ollama, LM Studio and others on these machines.',
  modelsLook: 'Look for model servers',
};
