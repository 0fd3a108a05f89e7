# The single path of the PPD paper with its background in ns-2 2.35: the rows `chain/sessions` of
# validation/reference/ns2.csv.
#
#   ns sessions.tcl UDP_OFF TCP_IDLE SEED TRANSFERS     (times in seconds)
#   ns sessions.tcl UDP_OFF TCP_IDLE SEED 0 SECONDS     the background alone, measured from 20 s to SECONDS; prints
#       goodput of the sessions in Mbit/s, packets sent again, drops at the inner links, share of UDP lost, load
#
# Nodes S N1 N2 N3 N4 C, 20 hosts at each of N1 to N4, every link 10 Mbit/s, 20 ms, 50 packets. A
# host has one source of TCP sessions and one of UDP bursts, both to the same host elsewhere.
foreach {off idle seed transfers seconds} $argv break
# How many hosts send from a node to another; the hosts of a node are numbered in this order.
set matrix {1 2 10  1 3 5  1 4 5  2 1 10  2 3 5  2 4 5  3 1 5  3 2 5  3 4 10  4 1 5  4 2 5  4 3 10}
set warm 20.0
set initial_window 2

remove-all-packet-headers
add-packet-header IP TCP Common Flags RTP
Agent/TCP set useHeaders_ false
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 20
set ns [new Simulator]
ns-random $seed

proc link {a b} {
    global ns
    $ns duplex-link $a $b 10Mb 20ms DropTail
    $ns queue-limit $a $b 50
    $ns queue-limit $b $a 50
}
for {set i 0} {$i < 6} {incr i} {set core($i) [$ns node]}
for {set i 0} {$i < 5} {incr i} {link $core($i) $core([expr $i + 1])}
for {set n 1} {$n <= 4} {incr n} {
    for {set h 0} {$h < 20} {incr h} {
        set host($n,$h) [$ns node]
        link $host($n,$h) $core($n)
    }
}

set pause [new RandomVariable/Exponential]
$pause set avg_ $idle
set size [new RandomVariable/LogNormal]
$size set avg_ 9.357
$size set std_ 1.318

# A connection that is used again: a loss of its first packet leaves windowInit_ at 1, so that it is
# set again.
proc connect {from to done} {
    global ns
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    $tcp proc done {} "global ns; \$ns at \[\$ns now\] {$done}"
    return [list $tcp $sink]
}
proc send {tcp sink bytes} {
    global initial_window
    $tcp reset
    $sink reset
    $tcp set windowInit_ $initial_window
    $tcp send $bytes
}

proc rest {n} {
    global ns pause
    $ns at [expr [$ns now] + [$pause value]] "session $n"
}
proc session {n} {
    global ends size
    global packets
    set bytes [expr round([$size value])]
    set bytes [expr {$bytes < 1 ? 1 : $bytes}]
    set packets($n) [expr ($bytes + 999) / 1000]
    send [lindex $ends($n) 0] [lindex $ends($n) 1] $bytes
}
# A session is over: what it carried counts, and its source rests.
proc over {n} {
    global carried again packets ends
    incr carried $packets($n)
    incr again [[lindex $ends($n) 0] set nrexmitpack_]
    rest $n
}
proc bursts {from to} {
    global ns off sinks
    set udp [new Agent/UDP]
    set sink [new Agent/LossMonitor]
    lappend sinks $sink
    $ns attach-agent $from $udp
    $ns attach-agent $to $sink
    $ns connect $udp $sink
    set source [new Application/Traffic/Exponential]
    $source set packetSize_ 1000
    $source set burst_time_ 1s
    $source set idle_time_ ${off}s
    $source set rate_ 800k
    $source attach-agent $udp
    $ns at 0.0 "$source start"
}

for {set n 1} {$n <= 4} {incr n} {set sends($n) 0; set takes($n) 0}
set flow 0
set carried 0
set again 0
foreach {from to count} $matrix {
    for {set i 0} {$i < $count} {incr i} {
        set source $host($from,$sends($from))
        set target $host($to,[expr $takes($to) % 20])
        incr sends($from)
        incr takes($to)
        set ends($flow) [connect $source $target "over $flow"]
        rest $flow
        bursts $source $target
        incr flow
    }
}

set measured [connect $core(0) $core(5) finished]
set count 0
set sum 0.0
set squares 0.0
proc start {} {
    global ns began measured
    set began [$ns now]
    send [lindex $measured 0] [lindex $measured 1] 100000
}
proc finished {} {
    global ns began count sum squares transfers
    set took [expr [$ns now] - $began]
    incr count
    set sum [expr $sum + $took]
    set squares [expr $squares + $took * $took]
    if {$count == $transfers} {report; exit 0}
    $ns at [expr [$ns now] + 1.0] start
}

for {set i 0} {$i < 5} {incr i} {
    set queue(there,$i) [$ns monitor-queue $core($i) $core([expr $i + 1]) ""]
    set queue(back,$i) [$ns monitor-queue $core([expr $i + 1]) $core($i) ""]
}
foreach name [array names queue] {set bytes($name) 0.0}
# The counters of bytes have 32 bits.
proc collect {} {
    global ns queue bytes
    foreach name [array names queue] {
        set bytes($name) [expr $bytes($name) + [$queue($name) set bdepartures_]]
        $queue($name) set bdepartures_ 0
    }
    $ns at [expr [$ns now] + 100] collect
}
proc clear {} {
    global ns queue bytes transfers seconds sinks carried again
    collect
    foreach name [array names queue] {
        set bytes($name) 0.0
        $queue($name) set parrivals_ 0
        $queue($name) set pdrops_ 0
    }
    if {$transfers > 0} {start; return}
    set carried 0
    set again 0
    foreach sink $sinks {$sink set npkts_ 0; $sink set nlost_ 0}
    $ns at $seconds {background; exit 0}
}
# The sums of a property of the queues of the inner links, and of the sinks of datagrams.
proc of_queues {name} {
    global queue
    set sum 0
    foreach way {there back} {for {set i 1} {$i < 4} {incr i} {incr sum [$queue($way,$i) set $name]}}
    return $sum
}
proc of_sinks {name} {
    global sinks
    set sum 0
    foreach sink $sinks {incr sum [$sink set $name]}
    return $sum
}
proc background {} {
    global carried again seconds warm bytes
    collect
    set span [expr $seconds - $warm]
    set load 0.0
    foreach way {there back} {
        for {set i 1} {$i < 4} {incr i} {set load [expr $load + $bytes($way,$i) * 8 / 1e7 / $span / 6]}
    }
    set lost [of_sinks nlost_]
    puts [format "%.5f %d %d %.6f %.5f" [expr $carried * 8000.0 / $span / 1e6] $again \
        [of_queues pdrops_] [expr double($lost) / ($lost + [of_sinks npkts_])] $load]
}
proc report {} {
    global ns queue bytes warm count sum squares
    collect
    foreach way {there back} {
        set load 0.0
        set passed 1.0
        for {set i 0} {$i < 5} {incr i} {
            if {$i > 0 && $i < 4} {
                set load [expr $load + $bytes($way,$i) * 8 / 1e7 / ([$ns now] - $warm) / 3]
            }
            set lost [expr double([$queue($way,$i) set pdrops_]) / [$queue($way,$i) set parrivals_]]
            set passed [expr $passed * (1 - $lost)]
        }
        puts [format "%s: load %.3f, loss %.3f" $way $load [expr 1 - $passed]]
    }
    set mean [expr $sum / $count]
    set error [expr sqrt(($squares / $count - $mean * $mean) / $count)]
    puts [format "%d transfers, mean %.2f s, standard error %.2f s" $count $mean $error]
}
$ns at $warm clear
$ns run
