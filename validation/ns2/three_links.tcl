# A stream and a traffic generator whose links meet at a router, in ns-2 2.35: the rows `multitcp`
# of validation/reference/ns2.csv.
#
#   ns three_links.tcl KEY VALUE ...
#
# Fig. 3 of the MultiTCP paper: `streams` endless TCP connections of `stream_window` segments each
# from the sender, and from the generator `tcp` endless ones and one source of datagrams at `udp`
# bit/s, all to the receiver. TCP starts at times of its own in the first second, and so do the
# datagrams; all is measured from `warm` to `seconds`. Prints
#   goodput of the stream and of the other TCP in Mbit/s, TCP packets sent again, timeouts of the stream,
#   drops at the generator's link and at the last one, UDP loss
# With `discipline` RED the last link has RED, in packets. With `apart` each of the generator's
# sources has a host, and a link like the generator's, of its own.
array set p {
    streams 1 stream_window 8 tcp 15 window 20 udp 0 size 1000 random 0 variant Reno delack 0 overhead 0
    rate 6e6 delay 0.02 sender_delay 0.02 generator_rate 6e6 generator_delay 0.02 queue 50 apart 0 discipline DropTail
    warm 10 seconds 260 seed 1
}
array set p $argv

source [file join [file dirname [info script]] common.tcl]
Agent/TCP set overhead_ $p(overhead)
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_ $p(size)
foreach name {sender router receiver} {set $name [$ns node]}
set generator {}
link $sender $router $p(rate) $p(sender_delay) $p(queue)
link $router $receiver $p(rate) $p(delay) $p(queue) $p(discipline)
set last [$ns monitor-queue $router $receiver ""]

# A host whose packets the generator's link carries, and the monitor of that link.
proc host {} {
    global ns p router generator
    if {$p(apart) || $generator == {}} {
        set node [$ns node]
        link $node $router $p(generator_rate) $p(generator_delay) $p(queue)
        lappend generator $node [$ns monitor-queue $node $router ""]
    }
    return [lindex $generator end-1]
}
proc pair {node source sink} {
    global ns receiver
    $ns attach-agent $node $source
    $ns attach-agent $receiver $sink
    $ns connect $source $sink
}

set class [expr {$p(variant) == "Tahoe" ? "Agent/TCP" : "Agent/TCP/$p(variant)"}]
set sink_class Agent/TCPSink
if {$p(variant) == "Sack1"} {append sink_class /Sack1}
if {$p(delack)} {append sink_class /DelAck}
proc bulk {node window} {
    global ns random class sink_class
    set tcp [new $class]
    $tcp set window_ $window
    pair $node $tcp [new $sink_class]
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$random uniform 0 1] "$ftp start"
    return $tcp
}
set streams {}
set others {}
for {set i 0} {$i < $p(streams)} {incr i} {lappend streams [bulk $sender $p(stream_window)]}
for {set i 0} {$i < $p(tcp)} {incr i} {lappend others [bulk [host] $p(window)]}
if {$p(udp)} {
    set udp [new Agent/UDP]
    $udp set packetSize_ $p(size)
    set arrived [new Agent/LossMonitor]
    pair [host] $udp $arrived
    set source [new Application/Traffic/CBR]
    $source set packetSize_ $p(size)
    $source set rate_ $p(udp)
    $source set random_ $p(random)
    $source attach-agent $udp
    $ns at [$random uniform 0 1] "$source start"
}

proc sum {agents name} {
    set total 0
    foreach agent $agents {incr total [$agent set $name]}
    return $total
}
proc totals {} {
    global p streams others generator last arrived
    set monitors {}
    foreach {node monitor} $generator {lappend monitors $monitor}
    set received [expr {$p(udp) ? [$arrived set npkts_] : 0}]
    set lost [expr {$p(udp) ? [$arrived set nlost_] : 0}]
    return [list [sum $streams ack_] [sum $others ack_] [sum [concat $streams $others] nrexmitpack_] \
        [sum $streams nrexmit_] [sum $monitors pdrops_] [$last set pdrops_] $received $lost]
}
proc finish {} {
    global p before
    set span {}
    foreach now [totals] then $before {lappend span [expr $now - $then]}
    foreach {stream other again timeouts first last received lost} $span break
    set unit [expr {8000.0 / ($p(seconds) - $p(warm)) / 1e6}]
    set loss [expr {$received + $lost > 0 ? double($lost) / ($received + $lost) : 0.0}]
    puts [format "%.5f %.5f %d %d %d %d %.6f" [expr $stream * $unit] [expr $other * $unit] $again $timeouts \
        $first $last $loss]
    exit 0
}
$ns at $p(warm) {set before [totals]}
$ns at $p(seconds) finish
$ns run
