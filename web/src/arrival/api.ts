// What the set-up asks of the daemon: its steps, the home, and invitations.
import { call, type Body, type Data } from '../http';

export type Arrival = Data<'GET /api/v1/arrival'>;
export type Step = Arrival['steps'][number]['step'];
export type StepState = Arrival['steps'][number]['state'];
export type Home = Data<'GET /api/v1/home'>;
export type Invitation = Data<'POST /api/v1/people/{id}/invitation'>;

export const arrival = () => call('GET /api/v1/arrival');
export const changeArrival = (body: Body<'PATCH /api/v1/arrival'>) => call('PATCH /api/v1/arrival', { body });
export const changeHome = (body: Body<'PATCH /api/v1/home'>) => call('PATCH /api/v1/home', { body });
export const invite = (person: string) => call('POST /api/v1/people/{id}/invitation', { path: { id: person } });
