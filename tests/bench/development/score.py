"""score.py DIR [--sets 2,3] [--show wrong,ask?] [--diff]: scores DIR/dN.json, as `run.py --json` writes it.

gold/dN.jsonl holds what helpers judged, one line a turn: the verdict on gold/dN.said.jsonl (what Hob did on 2026-11-24), its cause,
and the acceptable calls. A turn that comes out the same keeps its verdict; any other is compared with the acceptable calls. Of
442 turns judged right the comparison finds 435 right; `ask?` still needs a person.
"""
import json,re,sys,argparse,collections
from pathlib import Path
a=argparse.ArgumentParser(); a.add_argument('dir'); a.add_argument('--sets',default='1,2,3,4'); a.add_argument('--show'); a.add_argument('--diff',action='store_true'); g=a.parse_args()
STOP={'the','a','an','my','our','some','to','that','of','for','please','s','me'}
def words(t): return [w for w in re.findall(r"[a-z0-9£€$.:+-]+",t.lower().replace("’","'").replace("'s",'')) if w not in STOP]
def text_eq(x,y):
    if x.strip().lower()==y.strip().lower(): return True
    if re.fullmatch(r'[\d:TPHMSDW+.-]+',y.strip()): return norm_time(x)==norm_time(y)
    p,q=collections.Counter(words(x)),collections.Counter(words(y))
    if not q: return not p
    common=sum((p&q).values()); f=2*common/max(1,sum(p.values())+sum(q.values()))
    return f>=.75
def norm_time(t):
    m=re.fullmatch(r'P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?',t)
    if m and t!='P': return sum(int(v or 0)*k for v,k in zip(m.groups(),(86400,3600,60,1)))
    return re.sub(r':00$','',t) if re.match(r'.*T\d\d:\d\d:00$',t) else t
def eq(got,want):
    if isinstance(want,list) and not isinstance(got,list): return any(eq(got,w) for w in want)
    if isinstance(want,list): 
        return len(got)==len(want) and all(any(eq(x,w) for x in got) for w in want) or any(eq(got,w) for w in want if isinstance(w,list))
    if isinstance(want,dict): return isinstance(got,dict) and all(k in got and eq(got[k],v) for k,v in want.items())
    if isinstance(want,str): return isinstance(got,str) and text_eq(got,want) or isinstance(got,(int,float)) and want==str(got)
    if isinstance(want,bool) or want is None: return got==want
    if isinstance(want,(int,float)):
        try: return float(got)==float(want)
        except Exception: return False
    return got==want
UUID=re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-')
def call_ok(c,w):
    if c['name']!=w['tool'] or c['isError']: return False
    for k,v in w.get('args',{}).items():
        x=c['arguments'].get(k)
        if k.endswith('Id') and isinstance(x,str) and UUID.match(x): continue
        if x is None or not eq(x,v): return False
    return True
LOOK=re.compile(r'^(list|query|search|get|recall|answer|expense_summary|gpio_read|summar|calc|convert|date|random|format|help|current|next|find)')
def matches(calls,alt):
    left=list(calls)
    for w in alt:
        hit=next((c for c in left if call_ok(c,w)),None)
        if hit is None: return False
        left.remove(hit)
    return all(LOOK.match(c['name']) for c in left)
ASK=re.compile(r'\?( Say yes or no\.)?$|^(When|Which|What)\b|Say yes or no|Shall I',re.I)
REFUSE=re.compile(r"did not understand|I don.t know that|have not told me|Say “help”|I do not know what you mean",re.I)
def auto(turn,gold):
    calls=[c for c in turn['calls']]
    changes=[c for c in calls if not LOOK.match(c['name'])]
    reply=turn['reply']
    rok=gold.get('reply') is None or re.search(gold['reply'],reply,re.I)
    for alt in gold['gold']:
        if matches(calls,alt) and rok and (alt or not changes): 
            if not alt and gold['scope']=='in' and REFUSE.search(reply): break
            if not alt and gold['scope']=='in' and ASK.search(reply) and not gold['asks'] and gold.get('reply') is None: break
            return 'right'
    if gold['scope']=='in' and rok and gold.get('reply') and not changes: return 'right'
    if not changes:
        if gold['scope']=='out': return 'misasked' if 'Shall I' in reply else 'right' if REFUSE.search(reply) or not calls else 'wrong'
        if ASK.search(reply) and not REFUSE.search(reply): return 'right' if gold['asks'] and 'Shall I' not in reply else 'ask?'
        if REFUSE.search(reply) or not calls: return 'refused'
    return 'wrong'
GOLD=Path(__file__).resolve().parent/'gold'
tot=collections.Counter(); out=[]
changed=[]
for n in g.sets.split(','):
    gold=collections.defaultdict(dict)
    for l in open(GOLD/f'd{n}.jsonl'):
        r=json.loads(l); gold[r['id']][r['turn']]=r
    base={r['id']:r['turns'] for r in map(json.loads,open(GOLD/f'd{n}.said.jsonl'))}
    for r in map(json.loads,open(f'{g.dir}/d{n}.json')):
        for i,t in enumerate(r['turns']):
            q=gold[r['id']].get(i)
            if not q: continue
            b=base[r['id']][i] if i<len(base[r['id']]) else None
            strip=lambda t: re.sub(r'[0-9a-f]{8}-[0-9a-f-]{27}','ID',json.dumps([t['reply'],t['calls']],sort_keys=True))
            same=b and strip(b)==strip(t)
            v=q['verdict'] if same else auto(t,q)
            tot[q['scope'],v]+=1
            if b and not same: changed.append((r['id'],i,q['verdict'],v,t,q))
            if g.show and v in g.show.split(','): out.append((r['id'],i,v,t,q))
for sc in ('in','out'):
    n=sum(c for (s,_),c in tot.items() if s==sc)
    print(sc,n,{v:f'{c} ({100*c/n:.1f}%)' for (s,v),c in sorted(tot.items(),key=lambda x:-x[1]) if s==sc})
if g.diff:
    print('changed',len(changed),collections.Counter((a,b) for _,_,a,b,_,_ in changed).most_common())
    for id,i,a,b,t,q in changed:
        if a!=b: print(f"{id}/{i} {a} -> {b}\n > {t['say']}\n < {t['reply'][:200]!r}\n   {[(c['name'],c['arguments']) for c in t['calls']]}\n   GOLD {q['gold']} {q.get('reply')}")
for id,i,v,t,q in out: print(f"{id}/{i} {v} [{q['cause']}]\n > {t['say']}\n < {t['reply'][:200]!r}\n   {[(c['name'],c['arguments']) for c in t['calls']]}\n   GOLD {q['gold']} {q.get('reply')}")
