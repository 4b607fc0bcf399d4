// Addresses that were found on the network, for the form of the service they belong to.

type Fields = Record<string, string | number>;

let held: { service: string; fields: Fields } | undefined;

/** Keeps the fields until the form of this service opens. */
export function prefill(service: string, fields: Fields): void {
  held = { service, fields };
}

/** The fields for the form of this service, once. */
export function prefilled(service: string): Fields | undefined {
  if (held?.service !== service) return undefined;
  const { fields } = held;
  held = undefined;
  return fields;
}
