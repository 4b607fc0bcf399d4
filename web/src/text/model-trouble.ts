// Sentences about a model that does not answer: in Talk, on the page about health, and on that about models.

type Problem = 'network' | 'server' | 'key' | 'credit' | 'busy' | 'refused';

export interface Trouble {
  provider: string;
  url: string;
  problem: Problem;
}

/** The server in words; members do not see addresses. */
const server = ({ provider, url }: Trouble) => (url && /^http:/.test(url) ? `${provider} at ${url.replace(/^http:\/\/|\/v1$/g, '')}` : provider);

export const modelTrouble = {
  title: 'Model',
  since: (one: Trouble, since: string) => {
    switch (one.problem) {
      case 'key': return `${one.provider} has not accepted the key since ${since}.`;
      case 'credit': return `There has been no credit left at ${one.provider} since ${since}.`;
      case 'server': return `${server(one)} has been failing since ${since}.`;
      default: return `${server(one)} has not answered since ${since}.`;
    }
  },
  instead: (model: string) => `${model} answers instead.`,
  alone: 'Until it is back, Hob answers what it can by itself.',
  /** What to do. */
  todo: {
    network: (one: Trouble) => (/^http:/.test(one.url) ? 'Check that the computer is on and its model server runs.' : 'Check that this device is connected to the internet.'),
    server: () => 'Try again later, or choose another model.',
    key: () => 'Paste a new key.',
    credit: () => 'Add some there, or choose another model.',
    busy: () => '',
    refused: () => '',
  } as Record<Problem, (one: Trouble) => string>,
  open: 'Models',
};
