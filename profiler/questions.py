"""Ready questions in SQL: those of the SQL page and of docs/sql.md."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One SELECT and what it answers. `chart`: its first column against the others makes a picture."""

    title: str
    sql: str
    chart: bool = False


OF_TRACE = (
    Question(
        "What takes the time?",
        """\
select name, sum(self_ns) / 1e6 as self_ms, count(*) as calls
from slices where category = 'cpu_op' group by name order by self_ms desc limit 10
""",
        chart=True,
    ),
    Question(
        "How long are the steps, and how much do they vary?",
        """\
select count(*) as steps, median(duration_ns) / 1e6 as median_ms, quantile_cont(duration_ns, 0.95) / 1e6 as p95_ms
from slices where name like 'ProfilerStep#%' and category = 'user_annotation'
""",
    ),
    Question(
        "Which steps took longer than usual?",
        """\
select name, duration_ns / 1e6 as ms, duration_ns / median(duration_ns) over () as of_median
from slices where name like 'ProfilerStep#%' and category = 'user_annotation'
qualify of_median > 1.1 order by of_median desc limit 20
""",
    ),
    Question(
        "Which calls of one op were the slowest, and when?",
        """\
select start_ns, duration_ns, thread from slices where name = 'aten::addmm' order by duration_ns desc limit 5
""",
    ),
    Question(
        "In which modules is the time spent?",
        """\
select args.value as module, sum(self_ns) / 1e6 as self_ms, count(*) as calls
from slices join args using (trace, slice)
where key = 'Module Hierarchy' group by module order by self_ms desc limit 20
""",
        chart=True,
    ),
    Question(
        "With which shapes was an op called?",
        """\
select slices.name, args.value as shapes, count(*) as calls, avg(duration_ns) as mean_ns
from slices join args using (trace, slice)
where key = 'Input Dims' group by all order by calls desc, mean_ns desc limit 10
""",
    ),
    Question(
        "Which forward op has the slowest backward?",
        """\
select forward.name, sum(forward.duration_ns) / 1e6 as forward_ms, sum(backward.duration_ns) / 1e6 as backward_ms,
       count(*) as calls
from flows
join slices forward on forward.trace = flows.trace and forward.slice = flows.source
join slices backward on backward.trace = flows.trace and backward.slice = flows.target
where flows.name = 'fwdbwd' group by forward.name order by backward_ms desc limit 10
""",
        chart=True,
    ),
    Question(
        "Which ops waited for the GIL?",
        """\
with ops as (
  select op.trace, op.tid, op.name, op.start_ns, op.start_ns + op.duration_ns as end_ns
  from slices op left join slices outside on outside.trace = op.trace and outside.slice = op.parent
  where op.category in ('cpu_op', 'autograd') and coalesce(outside.category, '') not in ('cpu_op', 'autograd')
), waits as (
  select trace, args.value as tid, start_ns, duration_ns from slices join args using (trace, slice)
  where category = 'gil' and slices.name like 'GIL wait%' and key = 'Thread'
)
select case when end_ns > waits.start_ns then name else '(no op)' end as op,
       sum(duration_ns) / 1e6 as wait_ms, count(*) as waits
from waits asof left join ops using (trace, tid, start_ns)
group by op order by wait_ms desc
""",
        chart=True,
    ),
    Question(
        "Which kernels belong to which op?",
        """\
select op.name as op, kernel.name as kernel, sum(kernel.duration_ns) as ns
from flows
join slices launch on launch.trace = flows.trace and launch.slice = flows.source
join slices kernel on kernel.trace = flows.trace and kernel.slice = flows.target and kernel.category = 'kernel'
join slices op on op.trace = launch.trace and op.slice = launch.parent
group by all order by ns desc limit 50
""",
    ),
    Question(
        "Which kernels on a device have no launch?",
        """\
select name, count(*) as kernels, sum(duration_ns) / 1e6 as ms
from slices anti join flows on flows.trace = slices.trace and flows.target = slices.slice
where category = 'kernel' and parent < 0 group by name order by ms desc
""",
    ),
    Question(
        "After which kernels was a stream idle for longest?",
        """\
select thread as stream, name as after, start_ns + duration_ns as from_ns,
       lead(start_ns) over (partition by trace, pid, tid order by start_ns) - from_ns as idle_ns
from slices where category = 'kernel' and parent < 0
qualify idle_ns > 0 order by idle_ns desc limit 10
""",
    ),
    Question(
        "How does memory grow from step to step?",
        """\
with steps as (
  select trace, name as step, start_ns as time_ns, start_ns from slices
  where name like 'ProfilerStep#%' and category = 'user_annotation'
)
select step, max(value) / 1e6 as peak_mb, arg_max(value, time_ns) / 1e6 as end_mb,
       end_mb - lag(end_mb) over (order by start_ns) as grown_mb
from counters asof join steps using (trace, time_ns)
where name = 'Allocated' group by step, start_ns order by start_ns
""",
        chart=True,
    ),
    Question(
        "What was memory in use for when it was most?",
        """\
with peak as (select arg_max(time_ns, value) as moment from counters where name = 'Allocated')
select category, module, sum(bytes) as bytes from memory, peak
where coalesce(allocated_ns, moment) <= moment and coalesce(freed_ns, moment + 1) > moment
group by all order by bytes desc
""",
    ),
    Question(
        "How much was allocated, and how much freed?",
        """\
select sum(number) filter (number > 0) as allocated, -sum(number) filter (number < 0) as freed
from instants join instant_args using (trace, instant)
where name = '[memory]' and key = 'Bytes'
""",
    ),
    Question(
        "How high did each counter go?",
        """\
select name, max(value) as highest, arg_max(time_ns, value) as at_ns from counters group by name order by name
""",
    ),
    Question(
        "How busy is each thread, as a share of the trace?",
        """\
select process, thread, sum(duration_ns) / (select max(start_ns + duration_ns) - min(start_ns) from slices) as busy
from slices where parent < 0 group by all order by busy desc
""",
    ),
)
OF_LAB = (
    Question(
        "Which benchmarks are there, and how slow are they now?",
        """\
select project, benchmark, params, latest, unit, commits from series order by latest desc limit 20
""",
    ),
    Question(
        "What was the median of a benchmark at each commit?",
        """\
select r.commit, median(r.median) as median, count(*) as runs
from results r join commits c using (project, commit)
where benchmark = 'test_step' group by r.commit, c.place order by c.place
""",
        chart=True,
    ),
    Question(
        "By how much did each benchmark change between its first and its last commit?",
        """\
select benchmark, params, arg_max(median, created) / arg_min(median, created) as ratio
from results group by all order by ratio desc
""",
    ),
    Question(
        "What is the 95th percentile of one op's self time, by commit?",
        """\
select commit, quantile_cont(self_ns, 0.95) as p95_ns, count(*) as calls
from slices join traces using (trace) join commits using (project, commit)
where slices.name = 'matmul' group by commit, place order by place
""",
        chart=True,
    ),
    Question(
        "Which ops grew most between the first commit and the last?",
        """\
with ops as (
  select place, slices.name as op, sum(self_ns) / count(distinct trace) as ns
  from slices join traces using (trace) join commits using (project, commit)
  where category = 'cpu_op' group by all
)
select op, arg_min(ns, place) / 1e6 as first_ms, arg_max(ns, place) / 1e6 as last_ms, last_ms - first_ms as grown_ms
from ops group by op order by grown_ms desc limit 10
""",
    ),
    Question(
        "Which traces are not healthy?",
        """\
select run, name, verdict from traces where verdict <> 'healthy'
""",
    ),
    Question(
        "Who measures most?",
        """\
select machine, count(*) as runs, max(created) as latest from runs group by machine order by runs desc
""",
    ),
)
