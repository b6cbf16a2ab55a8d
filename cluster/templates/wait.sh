program=$! code=0
while interrupted=''; do
  wait "$program"
  code=$?
  [ -n "$interrupted" ] || break # a signal interrupts wait: wait again
done
# bash says 255 where it lost the code of a program that ended as a signal came: go on later.
[ "$code$warned" != 2551 ] || code=75
