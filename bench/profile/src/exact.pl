# Prints the figures of a profile of Devel::NYTProf, one line each with tabs. Times are seconds.
#
# Argument: the profile's file.
use strict;
use warnings;
use Devel::NYTProf::Data;

my ($file) = @ARGV;
my $profile = Devel::NYTProf::Data->new({ filename => $file, quiet => 1 });

sub told { print join("\t", map { my $word = $_ // ''; $word =~ tr/\t\n/  /; $word } @_), "\n" }

told('whole', $profile->{attribute}{profiler_duration} // 0);

my $subs = $profile->subname_subinfo_map;
for my $name (sort keys %$subs) {
    my $sub = $subs->{$name};
    next if !$sub->calls;
    my $place = $sub->fileinfo;
    told('sub', $sub->excl_time, $sub->incl_time, $sub->calls, $name, $place ? $place->filename : '', $sub->first_line || 0);
}

for my $source ($profile->all_fileinfos) {
    my $lines = $source->line_time_data(['line']) or next;
    for my $number (1 .. $#$lines) {
        my ($time, $count) = @{ $lines->[$number] || next };
        told('line', $time, $count, $source->filename, $number) if $count;
    }
}
