# TCP and UDP through one bottleneck in ns-2 2.35: the rows `shared`, `bursts`, `sixteen` and `red`
# of validation/reference/ns2.csv.
#
#   ns mix.tcl KEY VALUE ...
#
# A dumbbell whose hosts have links of their own on both sides; the first `tcp` pairs of hosts carry
# endless TCP, the others UDP. All start at a time of their own in the first second and are measured
# from `warm` to `seconds`. Prints
#   TCP goodput in Mbit/s, TCP packets sent, sent again, timeouts, drops at the bottleneck, UDP packets sent, UDP loss,
#   mean queue of the bottleneck in packets without the one in transmission
# With `red` the bottleneck has RED in both directions, in packets, and with `ecn` it marks.
array set p {
    tcp 0 variant Reno window 1000 delack 0 overhead 0
    udp 0 kind cbr size 1000 interval 0.01 peak 1e6 on 0.5 off 0.5
    rate 10e6 delay 0.02 queue 50 access_rate 100e6 access_delay 0.001 access_queue 10000
    red 0 ecn 0
    warm 10 seconds 100 seed 1
}
array set p $argv

source [file join [file dirname [info script]] common.tcl]
Agent/TCP set overhead_ $p(overhead)
set west [$ns node]
set east [$ns node]
if {$p(red)} {
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set mean_pktsize_ $p(size)
    Queue/RED set setbit_ $p(ecn)
    Agent/TCP set ecn_ $p(ecn)
}
link $west $east $p(rate) $p(delay) $p(queue) [expr {$p(red) ? "RED" : "DropTail"}]

proc pair {source sink} {
    global ns west east
    $ns attach-agent [attach $west] $source
    $ns attach-agent [attach $east] $sink
    $ns connect $source $sink
}

set class [expr {$p(variant) == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$p(variant)"}]
set sink_class Agent/TCPSink
if {$p(variant) == "Sack1"} {append sink_class /Sack1}
if {$p(delack)} {append sink_class /DelAck}
for {set i 0} {$i < $p(tcp)} {incr i} {
    set tcp($i) [new $class]
    pair $tcp($i) [new $sink_class]
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$random uniform 0 1] "$ftp start"
}
for {set i 0} {$i < $p(udp)} {incr i} {
    set udp($i) [new Agent/UDP]
    $udp($i) set packetSize_ $p(size)
    set arrived($i) [new Agent/LossMonitor]
    pair $udp($i) $arrived($i)
    if {$p(kind) == "exponential"} {
        set source [new Application/Traffic/Exponential]
        $source set packetSize_ $p(size)
        $source set burst_time_ $p(on)
        $source set idle_time_ $p(off)
        $source set rate_ $p(peak)
    } else {
        set source [new Application/Traffic/CBR]
        # It takes the interval as a rate, by the size that it has then.
        $source set packetSize_ $p(size)
        $source set interval_ $p(interval)
        $source set random_ [expr {$p(kind) == "jitter"}]
    }
    $source attach-agent $udp($i)
    set sent($i) [$ns monitor-queue [$udp($i) set node_] $west ""]
    $ns at [$random uniform 0 1] "$source start"
}
set bottleneck [$ns monitor-queue $west $east ""]

# Totals since the start: acknowledged, sent, again, timeouts, drops, datagrams sent, datagrams
# arrived, and the integral of the queue.
proc totals {} {
    global ns p tcp udp arrived sent bottleneck
    foreach name {acked data again timeouts datagrams received} {set $name 0}
    for {set i 0} {$i < $p(tcp)} {incr i} {
        incr acked [$tcp($i) set ack_]
        incr data [$tcp($i) set ndatapack_]
        incr again [$tcp($i) set nrexmitpack_]
        incr timeouts [$tcp($i) set nrexmit_]
    }
    for {set i 0} {$i < $p(udp)} {incr i} {
        incr datagrams [$sent($i) set parrivals_]
        incr received [$arrived($i) set npkts_]
    }
    set queue [$bottleneck get-pkts-integrator]
    $queue newpoint [$ns now] [$queue set lasty_]
    return [list $acked $data $again $timeouts [$bottleneck set pdrops_] $datagrams $received [$queue set sum_]]
}
proc finish {} {
    global p before
    set now [totals]
    set span {}
    foreach after $now earlier $before {lappend span [expr $after - $earlier]}
    foreach {acked data again timeouts drops datagrams received queued} $span break
    set measured [expr double($p(seconds) - $p(warm))]
    set goodput [expr {$acked * 8000.0 / $measured / 1e6}]
    set loss [expr {$datagrams > 0 ? 1.0 - double($received) / $datagrams : 0.0}]
    puts [format "%.5f %d %d %d %d %d %.6f %.4f" $goodput $data $again $timeouts $drops $datagrams $loss \
        [expr $queued / $measured]]
    exit 0
}
$ns at $p(warm) {set before [totals]}
$ns at $p(seconds) finish
$ns run
