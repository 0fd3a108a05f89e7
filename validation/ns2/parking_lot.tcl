# A chain of congested links in ns-2 2.35: the rows `chain` but for its sessions of
# validation/reference/ns2.csv.
#
#   ns parking_lot.tcl KEY VALUE ...
#
# Four routers in a row with three links between them. `long` endless TCP flows pass all three; on
# each link there are `cross` more that pass it alone, and `udp` sources of exponential bursts.
# Every flow has hosts of its own. Prints
#   goodput of the long flows and of the others in Mbit/s, TCP packets sent again, drops at the three links, UDP loss
array set p {
    long 2 cross 2 udp 0 variant Newreno window 1000
    size 1000 peak 2e6 on 0.5 off 0.5
    rate 10e6 delay 0.01 queue 50 access_rate 100e6 access_delay 0.001 access_queue 10000
    warm 10 seconds 100 seed 1
}
array set p $argv

source [file join [file dirname [info script]] common.tcl]
for {set i 0} {$i < 4} {incr i} {set router($i) [$ns node]}
for {set i 0} {$i < 3} {incr i} {
    link $router($i) $router([expr $i + 1]) $p(rate) $p(delay) $p(queue)
    set core($i) [$ns monitor-queue $router($i) $router([expr $i + 1]) ""]
}
proc pair {source from sink to} {
    global ns router
    $ns attach-agent [attach $router($from)] $source
    $ns attach-agent [attach $router($to)] $sink
    $ns connect $source $sink
}

set class [expr {$p(variant) == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$p(variant)"}]
set sink_class [expr {$p(variant) == "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]
proc bulk {from to} {
    global ns random class sink_class
    set tcp [new $class]
    pair $tcp $from [new $sink_class] $to
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$random uniform 0 1] "$ftp start"
    return $tcp
}
set longs {}
set crosses {}
set sent {}
set arrived {}
for {set i 0} {$i < $p(long)} {incr i} {lappend longs [bulk 0 3]}
for {set hop 0} {$hop < 3} {incr hop} {
    for {set i 0} {$i < $p(cross)} {incr i} {lappend crosses [bulk $hop [expr $hop + 1]]}
    for {set i 0} {$i < $p(udp)} {incr i} {
        set udp [new Agent/UDP]
        $udp set packetSize_ $p(size)
        set sink [new Agent/LossMonitor]
        pair $udp $hop $sink [expr $hop + 1]
        set source [new Application/Traffic/Exponential]
        $source set packetSize_ $p(size)
        $source set burst_time_ $p(on)
        $source set idle_time_ $p(off)
        $source set rate_ $p(peak)
        $source attach-agent $udp
        lappend sent [$ns monitor-queue [$udp set node_] $router($hop) ""]
        lappend arrived $sink
        $ns at [$random uniform 0 1] "$source start"
    }
}

proc sum {agents name} {
    set total 0
    foreach agent $agents {incr total [$agent set $name]}
    return $total
}
proc totals {} {
    global longs crosses core sent arrived
    set drops 0
    for {set i 0} {$i < 3} {incr i} {incr drops [$core($i) set pdrops_]}
    set tcp [concat $longs $crosses]
    return [list [sum $longs ack_] [sum $crosses ack_] [sum $tcp nrexmitpack_] $drops \
        [sum $sent parrivals_] [sum $arrived npkts_]]
}
proc finish {} {
    global p before
    set span {}
    foreach now [totals] then $before {lappend span [expr $now - $then]}
    foreach {long cross again drops datagrams received} $span break
    set unit [expr {8000.0 / ($p(seconds) - $p(warm)) / 1e6}]
    set loss [expr {$datagrams > 0 ? 1.0 - double($received) / $datagrams : 0.0}]
    puts [format "%.5f %.5f %d %d %.6f" [expr $long * $unit] [expr $cross * $unit] $again $drops $loss]
    exit 0
}
$ns at $p(warm) {set before [totals]}
$ns at $p(seconds) finish
$ns run
